"""The program as its user meets it: streams, exit codes, the same bytes everywhere."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from jobgen import __version__

ROOT = Path(__file__).parent.parent
HOSTILE = ["--", "a b", "new\nline", "$(id)", "it's", "é“", "-N", ""]


def jobgen(*words: str | bytes, **more: object) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "jobgen", *words]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    return subprocess.run(command, check=False, **options)  # type: ignore[call-overload,no-any-return]


def test_stdout_is_the_script_and_nothing_else() -> None:
    done = jobgen("sbatch", "--profile", "mi210", "-N", "3")
    assert (done.returncode, done.stderr) == (0, b"")
    golden = (ROOT / "tests/golden/mi210-3-nodes.sh").read_bytes()
    assert done.stdout == golden


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["sbatch"],
            "jobgen: --profile: no profile is named; see `jobgen profiles list` [usage]\n",
        ),
        (["sbatch", "--profile", "local"], "is for local"),
        (["sbatch", "--profile", "mi210", "-N", "0"], "jobgen: -N: 0 is out of range"),
        (["sbatch", "--nodez", "3"], "No such option"),
        (["nope"], "No such command"),
        (["profiles", "show", "nope"], "no profile `nope`"),
        (["trainers", "show", "nope"], "no trainer `nope`"),
        (["templates", "show", "nope"], "no template `nope`"),
        (["profiles", "validate"], "Missing argument"),
        (["local", "-o", "/no/such/folder/x"], "jobgen: -o /no/such/folder/x: cannot be written"),
        (["local", "--set", "x=\x1b[31m"], "unknown key `x`"),
    ],
)
def test_wrong_usage_is_2_and_one_line_on_stderr(words: list[str], said: str) -> None:
    done = jobgen(*words)
    text = done.stderr.decode()
    assert (done.returncode, done.stdout) == (2, b"")
    assert said in text
    assert "Traceback" not in text
    assert "\x1b" not in text


def test_an_output_folder_is_mentioned_where_people_read() -> None:
    done = jobgen("sbatch", "--profile", "mi210", "--set", "request.output=logs/%j.out")
    said = b"jobgen: the job's output goes to logs, or is lost: make that folder first, or say "
    said += b"--mkdir\n"
    assert (done.returncode, done.stderr) == (0, said)
    assert b"#SBATCH --output=logs/%j.out\n" in done.stdout


def test_help_and_version() -> None:
    done = jobgen("--help")
    assert done.returncode == 0
    listed = done.stdout.decode().split("Write a script:\n")[1].split("Options:")[0].splitlines()
    names = [line.split()[0] for line in listed if line.startswith("  ")]
    assert names == [*("sbatch", "qsub", "local", "build", "check", "lint", "rules"),
                     *("interactive", "byhand"),
                     *("profiles", "trainers", "templates", "completion")]  # fmt: skip
    assert jobgen("--version").stdout.decode() == f"jobgen, version {__version__}\n"


def test_validate_is_1_when_it_finds_something() -> None:
    errors = ROOT / "tests/errors"
    done = jobgen("profiles", "validate", "good.yaml", "choice.yaml", cwd=errors)
    assert done.returncode == 1
    assert done.stdout == (errors / "choice.out").read_bytes()
    assert done.stderr == b"jobgen: 1 of 2 profiles are right\n"
    assert jobgen("profiles", "validate", "good.yaml", cwd=errors).returncode == 0


def test_what_show_prints_is_yaml_with_every_value_and_its_origin(tmp_path: Path) -> None:
    done = jobgen("profiles", "show", "mi210", "--set", "node.gpu=none", cwd=tmp_path)
    shown = yaml.safe_load(done.stdout)
    assert (shown["node"]["gpus"], shown["node"]["gpu"]) == (8, "none")
    assert shown["network"]["environment"]["NCCL_NET"]["value"] == "IB"
    lines = done.stdout.decode().splitlines()
    origin = {
        line.split(":")[0].strip(): line.split("  # ")[-1] for line in lines if "  # " in line
    }
    assert origin["gpu"] == "--set node.gpu"
    assert origin["gpus"] == f"{ROOT}/profiles/mi210.yaml:13:9"
    assert origin["max_restarts"] == "jobgen's default"
    (tmp_path / "again.yaml").write_text(done.stdout.decode())
    again = jobgen("profiles", "show", "./again.yaml", cwd=tmp_path)
    assert yaml.safe_load(again.stdout) == shown


def test_what_show_prints_turns_no_terminal_s_text(tmp_path: Path) -> None:
    text = "a\u202eb\u2069c\U000e0001 é"
    done = jobgen("profiles", "show", "local", "--set", f"description={text}", cwd=tmp_path)
    shown = done.stdout.decode()
    assert "é" in shown
    assert shown.replace("\n", "").isprintable()
    assert yaml.safe_load(shown)["description"] == text


def test_the_lists() -> None:
    names = [line.split()[0] for line in jobgen("profiles").stdout.decode().splitlines()]
    aws = ["aws-cpu", "aws-cpu-container", "aws-nvidia"]
    assert names == [*aws, "dgx-a100", "eap", "local", "mi210"]
    assert jobgen("trainers", "list").stdout.decode() == (
        "allreduce    The fabric's check: how fast all ranks sum messages of growing size,"
        " whether right, over what.\n"
        "cifar10_vgg  VGG11 on CIFAR-10 with DDP, on one device or on many nodes,"
        " that resumes exactly.\n"
        "elastic_ddp  One DDP step of a toy model on every rank:"
        " does the launch work, and do the ranks meet?\n"
        "regression   A linear regression with DDP, on one device or on many nodes,"
        " that resumes exactly.\n"
    )
    listed = ["base", "byhand", "container", "local", "qsub", "sbatch"]
    assert jobgen("templates").stdout.decode().split() == [f"{name}.sh.j2" for name in listed]
    assert json.loads(jobgen("profiles", "schema").stdout)["type"] == "object"


def test_export_does_not_overwrite(tmp_path: Path) -> None:
    assert jobgen("trainers", "export", "elastic_ddp", cwd=tmp_path).returncode == 0
    text = (ROOT / "jobgen/trainers/elastic_ddp.py").read_text()
    assert (tmp_path / "elastic_ddp.py").read_text() == text
    assert jobgen("trainers", "show", "elastic_ddp").stdout.decode() == text
    assert jobgen("trainers", "export", "elastic_ddp", cwd=tmp_path).returncode == 2
    (tmp_path / "allreduce.py").symlink_to("elsewhere.py")
    assert jobgen("trainers", "export", "allreduce", cwd=tmp_path).returncode == 2
    assert not (tmp_path / "elsewhere.py").exists()


def test_a_closed_pipe_is_no_traceback() -> None:
    pipe = f"set -o pipefail; {sys.executable} -m jobgen sbatch --profile mi210 | true"
    done = subprocess.run(["bash", "-c", pipe], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.parametrize(("where", "said"), [("/dev/full", "No space left on device")])
def test_a_full_disk_is_one_line(where: str, said: str) -> None:
    with Path(where).open("wb") as full:
        done = jobgen("local", stdout=full)
    text = f"jobgen: standard output: cannot be written: {said} [output]\n"
    assert (done.returncode, done.stderr.decode()) == (2, text)


def test_the_header_makes_the_same_script_again(tmp_path: Path) -> None:
    words = ["sbatch", "--profile", "dgx-a100", "--name=-x y", "-e", "A=\n$(id)\x01", "--set"]
    words += ["node.gpu=none", "-t90", "-o", "job.sh", "--", "train.py", *HOSTILE]
    assert jobgen(*words, b"\xff\xfe", cwd=tmp_path).returncode == 0
    text = (tmp_path / "job.sh").read_bytes()
    command = text.splitlines()[2].decode().removeprefix("#   jobgen ")
    assert "job.sh" not in command
    again = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m jobgen {command}"], capture_output=True, check=True
    )
    assert again.stdout == text


def interpreters() -> list[str]:
    """Other Pythons of this machine, 3.10 to 3.13."""
    versions = [f"3.{minor}" for minor in (10, 11, 12, 13)]
    found = [shutil.which(f"python{version}") for version in versions]
    pyenv = sorted(Path("~/.pyenv/versions").expanduser().glob("3.1[0-3].*/bin/python3"))
    works = []
    for python in [*filter(None, found), *map(str, pyenv)]:
        done = subprocess.run([python, "-c", "import sys; print(sys.version_info[:2])"],
                              capture_output=True, check=False)  # fmt: skip
        works += [python] if done.returncode == 0 else []
    return works


def test_the_same_bytes_everywhere(tmp_path: Path) -> None:
    """Any folder, locale, hash seed, home and Python: the same input is the same script."""
    words = [
        "-m",
        "jobgen",
        "sbatch",
        "--profile",
        "mi210",
        "-N",
        "3",
        "-J",
        "é",
        "--",
        "ü.py",
        "“x”",
    ]
    site = next(path for path in sys.path if path.endswith("site-packages"))
    pythons = [sys.executable, *interpreters()]
    if len(pythons) == 1:
        pytest.skip("no other Python 3.10 to 3.13 on this machine")
    variations = [
        {"LC_ALL": "C", "PYTHONHASHSEED": "0"},
        {"LC_ALL": "C.UTF-8", "PYTHONHASHSEED": "1", "HOME": "/nowhere"},
        {"LC_ALL": "en_US.ISO-8859-1", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    ]
    scripts = set()
    for python in pythons:
        for variation in variations:
            path = {"PYTHONPATH": f"{ROOT}:{site}", "PATH": os.environ["PATH"]}
            done = subprocess.run(
                [python, *words],
                env={**path, **variation},
                cwd=tmp_path,
                capture_output=True,
                check=False,
            )
            assert done.returncode == 0, (python, done.stderr.decode())
            scripts.add(done.stdout)
    assert len(scripts) == 1


def test_mkdir_makes_the_output_s_folder(tmp_path: Path) -> None:
    words = ("sbatch", "--profile", "dgx-a100", "--mkdir", "-J", "x y", "--set")
    done = jobgen(*words, "request.output=a/%x/%j.out", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (tmp_path / "a/x y").is_dir()
    assert b"mkdir" not in done.stdout  # it is about this machine, not about the script
    (tmp_path / "file").write_text("")
    done = jobgen(*words, "request.output=file/x/%j.out", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"jobgen: --mkdir: file/x: Not a directory [output]\n"
    done = jobgen(*words, "request.output=%j/x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"jobgen: --set request.output: the output's folder has %j in it")


def test_an_array_of_the_same_is_noticed(tmp_path: Path) -> None:
    words = ("sbatch", "--profile", "dgx-a100", "--array", "0-1", "--trainer", "regression", "--")
    said = b"jobgen: all jobs of the array do the same: %a in the arguments is a job's number\n"
    assert jobgen(*words, "5", cwd=tmp_path).stderr == said
    assert jobgen(*words, "5", "1", "--seed", "%a", cwd=tmp_path).stderr == b""


# One that is wrong for every option that takes a value, and for some together.
WRONG = {
    "--profile": "nope",
    "--hosts": "a[1-",
    "-N": "x",
    "-G": "4,2",
    "-t": "soon",
    "-J": "a/\n",
    "-p": "a b",
    "-q": "a b",
    "-A": "a\x1bb",
    "--qos": "a b",
    "--reservation": "-x",
    "-C": "a b",
    "--array": "1-x",
    "--after": "12:well",
    "--mail": "a b",
    "--mail-on": "always",
    "--trainer": "nope",
    "-e": "NOTHING",
    "--set": "node.gpuz=1",
    "--directive": "nice",
    "--launcher": "mpirun",
    "--rendezvous": "etcd",
    "--max-restarts": "-1",
    "--signal": "soon",
    "--template": "nope.j2",
    "-o": "/no/such/folder/x",
}


@pytest.mark.parametrize("command", ["sbatch", "qsub", "local", "interactive", "byhand"])
def test_a_wrong_value_is_one_line_and_nothing_is_written(
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    from jobgen.__main__ import run
    from jobgen.job import DOING, options

    monkeypatch.chdir(tmp_path)
    profile = {"qsub": "eap", "local": "local"}.get(command, "mi210")
    doing = [row for row in DOING.values() if command in row.commands]
    rows = [row for _, row in options(command)] + doing
    base = [command, "--profile", profile, *(["--hosts", "a"] if command == "byhand" else [])]
    for row in rows:
        if not row.metavar:
            continue
        words = [*base, f"{row.flags[0]}={WRONG[row.flags[0]]}"]
        if row.flags[0].startswith("-") and not row.flags[0].startswith("--"):
            words = [*base, row.flags[0], WRONG[row.flags[0]]]
        if row.flags[0] != "-o" and command != "interactive":
            words += ["-o", "out"]
        monkeypatch.setattr("sys.argv", ["jobgen", *words])
        with pytest.raises(SystemExit) as ended:
            run()
        output, said = capfd.readouterr()
        assert (ended.value.code, output) == (2, ""), (words, said)
        assert said.startswith(("jobgen: ", "nope.j2")), (words, said)
        assert len(said.splitlines()) == 1, (words, said)
        assert not list(tmp_path.iterdir()), words
