"""Environments of locks: their names, the jobs that use them, and how uv makes them."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from jobgen.bounds import LOCK_BYTES
from jobgen.errors import JobgenError
from jobgen.generator import Generator
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Plan
from tests.helpers import jobgen
from tests.locks import LOCK, PROJECT, lock_project

pytestmark = pytest.mark.slow

STORE = "$PWD/.jobgen/store/environments"
PROFILE = "scheduler: local\nsoftware: {{{}}}\n"
SLURM = "scheduler: slurm\npartition: p\nnode: {{gpus: 1}}\nsoftware: {{{}}}\n"
PROGRAM = "import sys, package; print('RAN', sys.prefix, package.NAME, flush=True)\n"
# Makes what `uv venv` and `uv sync` make, and then does what $DO says.
UV = """#!/bin/bash
set -eu
echo "uv $*" >> "$UV_LOG"
if [[ $1 == venv ]]; then
  mkdir -p "${@: -1}/bin"
  ln -s "$(command -v python3)" "${@: -1}/bin/python3"
  echo "uv = 0.0" > "${@: -1}/pyvenv.cfg"
  exit
fi
echo half > "$UV_PROJECT_ENVIRONMENT/package"
eval "${DO-}"
"""
# A Python that imports no torch.
WITHOUT_TORCH = """
cd "$UV_PROJECT_ENVIRONMENT/bin"; rm python3
printf '#!/bin/sh\\necho "ImportError: libx.so.1" >&2; exit 1\\n' > python3; chmod +x python3
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a lock, and with a profile of this machine alone, `here`, that names it."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "uv.lock").write_text(LOCK.replace("torch", "package"))
    (tmp_path / "pyproject.toml").write_text(PROJECT)
    profile(tmp_path, "lock: uv.lock")
    return tmp_path


def profile(project: Path, software: str, text: str = PROFILE) -> None:
    (project / "profiles").mkdir(exist_ok=True)
    (project / "profiles/here.yaml").write_text(text.format(software))


def plan(project: Path, *changes: str, **fields: str) -> Plan:
    words = {"profile": "here", "set_values": changes, "program": ("train.py",), **fields}
    return Generator(project).plan(Job(words.pop("command", "local"), **words))  # type: ignore[arg-type]


def name(project: Path, *changes: str) -> str:
    """The name of the environment of a job."""
    found = plan(project, *changes).software
    assert found.venv == f"{STORE}/{found.environment_name}"
    return found.environment_name


def refusal(act: Callable[[], object]) -> str:
    with pytest.raises(JobgenError) as caught:
        act()
    return str(caught.value)


@pytest.fixture
def uv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A stand-in for uv on PATH; the file with the command lines that it was given."""
    folder = tmp_path / "uv-stand-in"
    folder.mkdir()
    (folder / "uv").write_text(UV)
    (folder / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("UV_LOG", str(folder / "log"))
    return folder / "log"


def build(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[bytes]:
    return jobgen("store", "build", "--profile", "here", *words, cwd=cwd)


def environments(project: Path) -> list[str]:
    """The names of what is kept in the store, also of what is hidden."""
    folder = project / ".jobgen/store/environments"
    return sorted(os.listdir(folder)) if folder.exists() else []


# ---- names ----


def test_the_same_lock_has_the_same_name(project: Path, tmp_path: Path) -> None:
    found = name(project)
    other = tmp_path / "other"
    shutil.copytree(project, other, ignore=shutil.ignore_patterns("other"))
    assert name(other) == found
    assert len(found) == 32
    with (project / "pyproject.toml").open("a") as stream:
        stream.write("\n[tool.ruff]\nline-length = 100\n")
    assert name(project) == found  # the environment would be the same


def test_what_changes_an_environment_changes_its_name(project: Path) -> None:
    found = {name(project)}
    for number, change in enumerate(
        ("software.lock.python=3.12", "software.lock.options=[--extra=a]", "node.arch=aarch64"), 2
    ):
        found.add(name(project, change))
        assert len(found) == number
    (project / ".python-version").write_text("3.12\n")
    assert name(project) == name(project, "software.lock.python=3.12")
    with (project / "pyproject.toml").open("a") as stream:
        stream.write('\n[tool.uv]\ndefault-groups = ["a"]\n')
    found.add(name(project))
    (project / "uv.lock").write_text(LOCK)
    found.add(name(project))
    assert len(found) == 6


# ---- jobs ----


def test_the_environment_is_the_venv_of_a_job(project: Path) -> None:
    found = name(project)
    script = Generator(project).script(Job("local", profile="here", program=("train.py",)))
    assert f'export VIRTUAL_ENV="{STORE}/{found}"' in script
    assert "'jobgen store build --profile here'" in script
    profile(project, "lock: {}, store: $SCRATCH/s, stage: venv", SLURM)
    script = Generator(project).script(Job("sbatch", profile="here", program=("train.py",)))
    assert f", environment {found[:8]}\n" in script  # `jobgen check` says if it has changed
    assert '[[ -e $stage_from ]] || fail "no such environment: $stage_from; make it:"' in script
    staged = plan(project, command="sbatch").software
    assert staged.stage_from == f"$SCRATCH/s/environments/{found}"
    profile(project, "lock: {}, stage: squashfs", SLURM)
    image = plan(project, command="sbatch").software
    assert (image.venv, image.environment_name) == (None, found)
    assert image.stage_from == f"{STORE}/{found}.squashfs"


def test_the_lock_may_lie_in_the_code(project: Path) -> None:
    found = name(project)
    (project / "src").mkdir()
    for file in ("uv.lock", "pyproject.toml"):
        (project / file).rename(project / "src" / file)
    (project / "src/train.py").write_text("")
    assert "uv.lock: No such file or directory; `uv lock`" in refusal(lambda: plan(project))
    profile(project, "lock: uv.lock", SLURM)
    job = plan(project, code="src", command="sbatch")
    assert job.software.environment_name == found
    assert job.software.build[-2:] == ("--set", "software.code=src")


def test_the_command_repeats_what_decides_the_environment(project: Path) -> None:
    changes = (
        *("software.lock.options=[--no-dev]", "node.arch=x86_64"),
        *("launch.join_timeout=9", "software.commands=[ls]"),
    )
    words = plan(project, *changes).software.build
    assert words[:5] == ("jobgen", "store", "build", "--profile", "here")
    assert words[5:] == ("--set", changes[0], "--set", changes[1])


def test_wrong_locks(project: Path, tmp_path: Path) -> None:
    def text() -> str:
        return refusal(lambda: plan(project))

    (project / "pyproject.toml").unlink()
    assert "pyproject.toml: No such file or directory" in text()
    (project / "uv.lock").unlink()
    os.mkfifo(project / "uv.lock")
    assert "uv.lock is no file" in text()
    (project / "uv.lock").unlink()
    (project / "uv.lock").write_bytes(bytes(LOCK_BYTES + 1))
    assert f"uv.lock has more than {LOCK_BYTES} bytes" in text()
    profile(project, "lock: poetry.lock")
    assert "expected the path of a uv.lock, which `uv lock` writes, got 'poetry.lock'" in text()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "uv.lock").write_text(LOCK)
    inner = project / "inner"
    inner.mkdir()
    profile(inner, "lock: ../outside/uv.lock")
    job = Job("local", profile="here", program=("train.py",))
    assert "is outside" in refusal(lambda: Generator(inner, confined=True).plan(job))


@pytest.mark.parametrize(
    ("software", "message"),
    [
        ("lock: {}, venv: /v", "`venv` and `lock` are both set; keep one"),
        ("lock: {}, conda: c", "`lock` and `conda` are both set; keep one"),
        ("lock: {}, container: {image: i:1}", "`lock` and `container` are both set; ranks run in"),
        ("lock: {}, stage: folder, stage_from: /f", "`lock` and `stage: folder` are both set"),
        ("lock: {}, stage: squashfs, stage_from: /f", "`lock` and `stage_from` are both set"),
        ("lock: {options: [extra]}", "expected an option in one word, such as --extra=cu128"),
        ("lock: {options: [--extra cu]}", "expected an option in one word, such as --extra=cu128"),
    ],
)
def test_keys_that_exclude_a_lock(project: Path, software: str, message: str) -> None:
    profile(project, software)
    assert message in refusal(lambda: plan(project))


# ---- making one, with a stand-in for uv ----


def test_it_appears_as_a_whole_and_once(project: Path, uv: Path) -> None:
    found = name(project)
    done = build()
    place = project / f".jobgen/store/environments/{found}"
    assert (done.returncode, done.stdout.decode()) == (0, f"{place}\n"), done.stderr
    assert environments(project) == [found, f"{found}.json"]
    assert b"warning: torch is not in the lock: " in done.stderr
    assert (place.stat().st_mode | (place / "bin").stat().st_mode) & 0o222 == 0
    described = json.loads((place.parent / f"{found}.json").read_text())
    assert described["uv"] == "0.0"
    assert described["python"].count(".") == 2
    part = f"{place.parent}/.{found}"
    venv, sync = uv.read_text().splitlines()
    assert venv.startswith(f"uv venv --quiet --relocatable --project . {part}.")
    assert sync.startswith("uv sync --frozen --no-install-project --compile-bytecode --project")
    again = build()
    assert (again.returncode, again.stdout) == (0, done.stdout)
    assert b"it is there already" in again.stderr
    assert len(uv.read_text().splitlines()) == 2


@pytest.mark.parametrize(
    ("act", "message"),
    [
        ("echo No space left on device >&2; exit 2", "uv sync ended with status 2, as it says"),
        ("kill -9 $$", "uv sync ended with status -9"),
        (WITHOUT_TORCH, "torch is in the lock, and cannot be imported: ImportError: libx.so.1"),
    ],
)
def test_a_failure_leaves_nothing(
    project: Path, uv: Path, monkeypatch: pytest.MonkeyPatch, act: str, message: str
) -> None:
    (project / "uv.lock").write_text(LOCK)
    monkeypatch.setenv("DO", act)
    done = build()
    assert done.returncode == 2
    assert message in done.stderr.decode()
    assert environments(project) == []


def test_without_uv_the_message_says_how_to_get_it(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    done = build()
    assert done.returncode == 2
    assert b"there is no uv on PATH; `pipx install uv`, or see https://docs.astral" in done.stderr
    assert environments(project) == []


@pytest.mark.slow
def test_what_a_killed_build_left_is_removed_by_the_next(
    project: Path, uv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = name(project)
    monkeypatch.setenv("DO", "touch $UV_LOG.begun; sleep 60")
    words = ["-m", "jobgen", "store", "build", "--profile", "here"]
    first = subprocess.Popen([shutil.which("python3") or "", *words], start_new_session=True)
    while not Path(f"{uv}.begun").exists():
        assert first.poll() is None
        time.sleep(0.01)
    assert len(environments(project)) == 1
    monkeypatch.setenv("DO", "")
    assert build().returncode == 0
    assert len(environments(project)) == 3  # the part of one that still runs stays
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    monkeypatch.setenv("DO", "exit 2")
    assert build("--set", "software.lock.python=3.9").returncode == 2
    assert environments(project) == [found, f"{found}.json"]


def test_two_builds_at_once_make_one(
    project: Path, uv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are in the middle at the same time; the second to end finds that of the first."""
    wait = "touch $UV_LOG.$PPID; until (($(ls $UV_LOG.* | wc -l) > 1)); do sleep 0.01; done"
    monkeypatch.setenv("DO", wait)
    words = [shutil.which("python3") or "", "-m", "jobgen", "store", "build", "--profile", "here"]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE) for _ in range(2)]
    outputs = [each.communicate()[0] for each in both]
    assert [each.returncode for each in both] == [0, 0]
    assert outputs[0] == outputs[1]
    assert environments(project) == [name(project), f"{name(project)}.json"]


@pytest.mark.slow
def test_a_part_of_another_machine_stays_for_a_day(project: Path, uv: Path) -> None:
    build()
    folder = project / ".jobgen/store/environments"
    part = folder / f".{name(project)}.elsewhere.1"
    part.mkdir()
    (folder / ".other").mkdir()
    build()
    assert part.exists()
    os.utime(part, (0, 0))
    build()
    assert not part.exists()
    assert (folder / ".other").exists()


def test_a_store_that_cannot_be_written(project: Path) -> None:
    (project / ".jobgen").write_text("")
    done = build()
    assert done.returncode == 2
    assert b".jobgen: File exists; name another folder" in done.stderr


def test_a_store_that_a_stranger_can_write(project: Path, uv: Path) -> None:
    (project / "open").mkdir()
    (project / "open").chmod(0o777)
    done = build("--set", f"software.store={project}/open")
    assert done.returncode == 2
    assert b"another user can write in" in done.stderr
    assert not uv.exists()


def test_what_a_new_script_names_is_not_removed(project: Path, uv: Path) -> None:
    """`jobgen store remove` looks when an environment was used; a script that is made uses it."""
    (project / "jobs").mkdir()
    place = Path(build("--set", "request.chdir=jobs").stdout.decode().strip())
    assert place.is_relative_to(project / "jobs/.jobgen/store/environments")
    note = place.with_name(f"{place.name}.json")
    os.utime(note, (0, 0))
    job = Job("local", profile="here", program=("train.py",), set_values=("request.chdir=jobs",))
    Generator(project).script(job)
    assert note.stat().st_mtime > 0
    assert (
        f"environments/{place.name}".encode()
        in jobgen("store", "list", "jobs/.jobgen/store").stdout
    )


def test_a_job_without_its_environment_is_not_submitted(project: Path, uv: Path) -> None:
    sbatch = uv.with_name("sbatch")
    sbatch.write_text("#!/bin/sh\ncat > /dev/null; echo 12\n")
    sbatch.chmod(0o755)
    profile(project, "lock: uv.lock", SLURM)
    (project / "jobgen.yaml").write_text("jobs: {a: {profile: here, file: a.sh, program: [x]}}\n")
    one = ("sbatch", "--profile", "here", "--submit", "--", "x")
    for words in (one, ("build", "--submit")):
        done = jobgen(*words)
        assert (done.returncode, b"12" in done.stdout) == (2, False)
        text = "software.lock: its environment is not built: "
        assert f"{text}{project}/{STORE[5:]}/" in done.stderr.decode()
        assert b"; make it: jobgen store build --profile here" in done.stderr
    for store in ("$NONE/x", "/nosuch/store"):  # perhaps the nodes alone see it
        done = jobgen(*one[:-2], "--set", f"software.store={store}", *one[-2:])
        assert (done.returncode, done.stdout) == (0, b"12\n")
    assert build().returncode == 0
    assert jobgen(*one).stdout == b"12\n"


def test_an_environment_is_for_the_nodes(project: Path, uv: Path) -> None:
    other = "aarch64" if os.uname().machine != "aarch64" else "x86_64"
    done = build("--set", f"node.arch={other}")
    assert done.returncode == 2
    assert f"the nodes are {other}, and this machine is".encode() in done.stderr
    assert not uv.exists()


def test_a_profile_without_a_lock(project: Path) -> None:
    profile(project, "")
    done = build()
    assert done.returncode == 2
    assert b"the profile here has no `software.lock`; such as --lock uv.lock" in done.stderr


def test_an_environment_is_removed_with_what_is_beside_it(project: Path, uv: Path) -> None:
    place = Path(build().stdout.decode().strip())
    for end in (".squashfs", ".jobgen-1234.tar"):
        place.with_name(place.name + end).write_text("")
    for each in (place, *place.parent.iterdir()):
        os.utime(each, (0, 0))
    done = jobgen("store", "remove", ".jobgen/store", "--force", "--below", "profiles")
    assert done.returncode == 0, done.stderr
    assert environments(project) == []


# ---- with uv itself ----


@pytest.fixture
def locked(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The project with a lock that uv has made."""
    lock_project(project, monkeypatch)
    return project


@pytest.mark.slow
def test_a_job_runs_from_the_environment_of_its_lock(locked: Path) -> None:
    without = build()
    assert without.returncode == 2
    assert b"No module named 'torch'; if it is in an extra" in without.stderr
    profile(locked, "lock: {options: [--extra=gpu]}")
    (locked / "train.py").write_text(PROGRAM)
    script = jobgen("local", "--profile", "here", "-N", "1", "--", "train.py").stdout
    run = ["bash", "-c", script.decode()]
    before = subprocess.run(run, capture_output=True, text=True, check=False)
    assert before.returncode == 1
    found = name(locked)
    place = locked / f".jobgen/store/environments/{found}"
    cure = "make it: jobgen store build --profile here"
    assert before.stderr.endswith(f"no such environment: {place}; {cure}\n")
    done = build("--image") if shutil.which("mksquashfs") else build()
    assert done.returncode == 0, done.stderr
    assert b"lib is code, in lib, and not installed" in done.stderr
    assert b" + package==9.9" in done.stderr
    after = subprocess.run(run, capture_output=True, text=True, check=False)
    assert after.returncode == 0, after.stderr
    assert f"RAN {place} x" in after.stdout
    tool = subprocess.run([str(place / "bin/tool")], capture_output=True, text=True, check=True)
    assert tool.stdout.startswith(str(place))
    assert list(place.glob("lib/python*/site-packages/package/__pycache__/*.pyc"))


def test_an_image_can_be_unpacked_and_removed(locked: Path) -> None:
    if not shutil.which("mksquashfs"):
        pytest.skip("mksquashfs is not installed")
    done = build("--image", "--set", "software.lock.options=[--extra=gpu]")
    assert done.returncode == 0, done.stderr
    image = Path(done.stdout.decode().strip())
    assert image.name.endswith(".squashfs")
    words = ["unsquashfs", "-quiet", "-no-progress", "-dest", "files", str(image)]
    subprocess.run(words, check=True, capture_output=True)
    assert all(os.stat(folder).st_mode & 0o200 for folder, _, _ in os.walk("files"))
    tool = subprocess.run(["files/bin/tool"], capture_output=True, text=True, check=True)
    assert tool.stdout.startswith(f"{locked}/files/lib/")  # not what it was made in
