"""Copies of code for many scripts: jobgen build keeps them, jobgen check keeps nothing."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path
from shutil import rmtree

import pytest

from jobgen.code_store.code import read_code
from jobgen.code_store.store import note_of
from jobgen.errors import JobgenError
from jobgen.generator import Generator
from jobgen.planning.job_options import Job
from jobgen.profiles.keys.software import ENGINES
from jobgen.schedulers import get_scheduler
from jobgen.submission.edits import edit_warnings
from tests.code_folders import work_tree, write
from tests.helpers import jobgen

MANIFEST = """\
defaults: {profile: mi210, code: ., program: [train.py], file: "jobs/{name}.sh"}
jobs:
  one: {nodes: 1}
  two: {nodes: 2}
"""


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    files = {"jobgen.yaml": MANIFEST, "train.py": "", "src/x.py": ""}
    return work_tree(tmp_path / "repository", **files)


def run(folder: Path, line: str, expected: int = 0) -> str:
    """What jobgen says in a folder."""
    done = jobgen(*line.split(), cwd=folder)
    text = (done.stdout + done.stderr).decode()
    assert done.returncode == expected, text
    return text


def copies(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.glob(".jobgen/store/code/*[0-9a-f]"))


@pytest.mark.slow
def test_build_keeps_one_copy_for_all_scripts(repository: Path) -> None:
    run(repository, "build -n", expected=1)
    assert copies(repository) == []
    run(repository, "build")
    (name,) = copies(repository)
    assert name == read_code(repository).name  # its scripts are no code
    for script in ("one", "two"):
        assert f'/code"/{name}\n' in (repository / f"jobs/{script}.sh").read_text()
    note = note_of(repository / ".jobgen/store/code" / name)
    os.utime(note, (0, 0))
    assert "0 written, 2 unchanged" in run(repository, "build")
    assert note.stat().st_mtime > 0  # it is in use
    write(repository, **{"train.py": "edited"})
    assert "2 written" in run(repository, "build")
    assert len(copies(repository)) == 2


def test_nothing_is_written_without_a_copy(repository: Path) -> None:
    write(repository, **{".jobgen/store": "a file"})
    assert "software.store: " in run(repository, "build", expected=2)
    assert not (repository / "jobs").exists()


@pytest.mark.slow
def test_check_keeps_nothing(repository: Path) -> None:
    run(repository, "build")
    before = copies(repository)
    assert "2 current" in run(repository, "check")
    write(repository, **{"train.py": "edited"})
    assert "jobs/one.sh: stale: the code changed" in run(repository, "check", expected=1)
    assert copies(repository) == before
    run(repository, "check --fix")
    assert len(copies(repository)) == 2
    (repository / "train.py").unlink()
    assert "'train.py' is not in the code" in run(repository, "check", expected=1)


def test_a_repository_reads_and_writes_nothing_outside(repository: Path, tmp_path: Path) -> None:
    store = tmp_path / "else where"
    text = MANIFEST.replace("code: .", f"code: ., set: {{software.store: {store}}}")
    write(repository, **{"jobgen.yaml": text})
    answer = run(repository, "build", expected=2)
    assert f"{store} is no store yet, and is outside of" in answer
    assert f"mkdir -p '{store}/code', if jobgen may write there" in answer
    (store / "code").mkdir(parents=True)
    run(repository, "build")
    assert len(list((store / "code").glob("*.json"))) == 1
    write(repository, **{"jobgen.yaml": MANIFEST.replace("code: .", "code: ../else where")})
    assert "../else where is outside" in run(repository, "build", expected=2)


def test_a_manifest_below_the_top_of_its_repository(repository: Path) -> None:
    """Its code may be all of the repository; the store is where its jobs are submitted."""
    below = write(repository / "exp", **{"jobgen.yaml": MANIFEST.replace("code: .", "code: ..")})
    run(below, "build")
    (name,) = copies(below)
    assert copies(repository) == []
    assert name == read_code(repository).name
    assert f'/code"/{name}\n' in (below / "jobs/one.sh").read_text()
    assert "2 current" in run(repository, "check exp")


def test_a_script_by_the_shell_is_no_code(repository: Path) -> None:
    """The shell has made its empty file before jobgen reads the folder."""
    words = ["sbatch", "--profile", "mi210", "--code", ".", "--", "train.py"]
    with (repository / "job.sh").open("wb") as stream:
        subprocess.run([sys.executable, "-m", "jobgen", *words], cwd=repository, stdout=stream)
    assert copies(repository) == [read_code(repository).name]
    assert "1 current" in run(repository, "check job.sh")


def test_a_profile_with_code_is_valid_wherever_it_is_checked(tmp_path: Path) -> None:
    write(tmp_path, **{"p.yaml": "extends: [mi210]\nsoftware: {code: src, store: $SCRATCH/j}\n"})
    assert "1 of 1 profiles are valid" in run(tmp_path, "profiles validate p.yaml")
    assert "salloc" in run(tmp_path, "interactive --profile p.yaml")
    assert "#SBATCH" in run(tmp_path, "sbatch --profile p.yaml")  # the packaged trainer
    assert "src: there is no such folder" in run(tmp_path, "sbatch --profile p.yaml -- a.py", 2)


def test_a_path_of_the_shell_that_leads_past_the_copy(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(repository)
    monkeypatch.setenv("PYTHONPATH", f"{repository}/src:{repository}:/opt/x")
    job = Job("sbatch", "mi210", program=("train.py",), code=".")
    (warning,) = edit_warnings([Generator().plan(job)], Path())
    assert f"{repository}/src is in the folder of the code" in str(warning)
    assert "-e PYTHONPATH=src is that folder of the copy" in str(warning)
    own = Generator().plan(job._replace(environment=("PYTHONPATH=src",)))
    assert [*edit_warnings([own], Path())] == []


def test_a_job_of_one_node_whose_copy_is_gone_leaves_a_record(tmp_path: Path) -> None:
    write(tmp_path, **{"train.py": ""})
    words = ("software.container=null",)
    job = Job("sbatch", "mi210", program=("train.py",), code=".", nodes="1", set_values=words)
    text = Generator(tmp_path).script(job)
    (tmp_path / "job.sh").write_text(text)
    rmtree(tmp_path / ".jobgen")
    of_slurm = {"SLURM_JOB_ID": "12", "SLURMD_NODENAME": "n1", "SLURM_CPUS_PER_TASK": "1"}
    done = subprocess.run(
        ["bash", "job.sh"], cwd=tmp_path, env={**os.environ, **of_slurm}, capture_output=True
    )
    assert done.returncode == 1
    assert b"jobgen: n1: there is no copy of the code" in done.stdout
    record = json.loads((tmp_path / "jobgen-logs/12.json").read_text())
    assert (record["job"], record["status"]) == ("12", 1)


# Lines that start something on another node, or the ranks.
STARTS = (
    "check_node | sort",
    "${start_ranks[@]}",
    '"${lead[@]}"',
    "(software; ranks)",
)
OF_PBS = [("qsub", "eap", starter) for starter in get_scheduler("pbs").starters]
OF_SLURM = [("sbatch", "dgx-a100", starter) for starter in get_scheduler("slurm").starters]


@pytest.mark.parametrize(("command", "profile", "starter"), [*OF_PBS, *OF_SLURM])
def test_the_copy_is_read_before_anything_starts(
    tmp_path: Path, command: str, profile: str, starter: str
) -> None:
    write(tmp_path, **{"train.py": ""})
    generator, count = Generator(tmp_path), 0
    launchers = ("torchrun", "node", "srun", "mpiexec")
    for launcher, plain, nodes in product(launchers, (None, "true"), ("1", "2")):
        values = (f"launch.starter={starter}", "software.container=null", "request.exclusive=true")
        job = Job(command, profile, program=("train.py",), code=".", nodes=nodes, plain=plain)
        try:
            text = generator.script(job._replace(launcher=launcher, set_values=values))
        except JobgenError:  # the starter does not go with the launcher
            continue
        count += 1
        subprocess.run(["bash", "-n"], input=text.encode(), check=True)
        lower = text.partition("# ==== machinery")[2]
        checked = lower.index("\ncheck_code\n")
        own_functions = lower.replace("() {", "")  # a start in a function counts where it is called
        starts = [line for line in own_functions[:checked].splitlines() if line.startswith(STARTS)]
        assert starts == []
        assert 'program="$workspace"/train.py' in text
    assert count >= 2


@pytest.mark.parametrize("engine", [name for name in ENGINES if name != "ce"])
def test_a_container_sees_the_copy(tmp_path: Path, engine: str) -> None:
    write(tmp_path, **{"train.py": ""})
    values = (f"software.container.engine={engine}", "software.container.image=i")
    job = Job("sbatch", "dgx-a100", program=("train.py",), code=".", set_values=values)
    text = Generator(tmp_path).script(job._replace(exclusive="true"))
    container = text.partition("\ncontainer() {")[2].partition("\n}\n")[0]
    assert ("$workspace:$workspace" in container) != ENGINES[engine].mounted_by_site
    assert "PYTHONPATH" in container
