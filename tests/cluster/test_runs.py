"""The records that jobs leave on a real Slurm and PBS, however they end."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from contextlib import suppress
from pathlib import Path

import pytest

from jobgen.runs.records import Record, read_records
from tests.cluster.harness import until
from tests.cluster.jobs import ON_CPU, Desk, PbsDesk, generate

TWO = ("--profile", "mi210", *ON_CPU, "-N", "2", "--launcher", "node")
ONE = ("--profile", "mi210", *ON_CPU, "-N", "1", "-G", "1", "--set", "launch.starter=srun")
NOTHING = ("--", "./program.sh")


def record(folder: Path, job: object) -> Record | None:
    found = [each for each in read_records(folder / "jobgen-logs") if each.job == str(job)]
    return found[0] if found else None


def script_of(each: Record) -> bytes:
    return each.script_file.read_bytes()


def state_of(desk: Desk, job: object) -> str:
    """What `jobgen runs` says on the login machine."""
    words = ("env", f"PATH={desk.path}", "python3", "-m", "jobgen", "runs", "--json")
    done = desk.cluster.run([*words], cwd=desk.folder)
    assert done.returncode == 0, done.stderr
    return str({each["job"]: each["state"] for each in json.loads(done.stdout)}[str(job)])


def processes_of(job: int) -> list[int]:
    """The shells of a job's batch script."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            is_script = b"/slurm_script\0" in (folder / "cmdline").read_bytes()
            if is_script and f"SLURM_JOB_ID={job}\0".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
    return found


def program(desk: Desk, text: str) -> None:
    desk.program("program.sh", f"#!/bin/bash\n{text}\n")


def test_success(desk: Desk) -> None:
    program(desk, "until [[ -e go ]]; do sleep 0.1; done")
    script = generate("sbatch", *TWO, *NOTHING, cwd=desk.folder)
    before = time.time()
    job = desk.send(script)
    until(lambda: (found := record(desk.folder, job)) and found.begin)
    begun = record(desk.folder, job)
    assert begun
    assert begun.end is None
    assert begun.status is None
    assert state_of(desk, job) == "running"
    (desk.folder / "go").touch()
    done = desk.cluster.wait(job, 120)
    assert done.exit_code == 0, done.output
    ended = record(desk.folder, job)
    assert ended
    assert (ended.status, ended.outside, ended.restarts) == (0, "", 0)
    assert ended.nodes == "smc-r07-07 smc-r07-08"
    assert ended.begin == begun.begin
    assert before - 2 < (ended.begin or 0) <= (ended.end or 0) < time.time() + 2
    assert re.match(r"torch \d|no torch needed", ended.versions), ended.versions
    assert script_of(ended).decode() == script
    assert state_of(desk, job) == "ok"
    names = sorted(path.name for path in (desk.folder / "jobgen-logs").iterdir())
    assert names == [f"{job}.json", "scripts"]  # the job's folder is gone
    assert len([*(desk.folder / "jobgen-logs/scripts").iterdir()]) == 1


@pytest.mark.parametrize(
    "words",
    [TWO, pytest.param(ONE, marks=pytest.mark.thorough)],
    ids=["two nodes", "one node"],
)
def test_failure_and_cancellation(desk: Desk, words: tuple[str, ...]) -> None:
    desk.program("fail.py", "raise SystemExit(7)\n")
    desk.program("hang.py", "import time\ntime.sleep(600)\n")
    words = tuple(word if word != "node" else "srun" for word in words)
    done = desk.run(*words, "--", "fail.py")
    (failed,) = read_records(desk.folder / "jobgen-logs")
    assert (failed.status, failed.outside) == (7, ""), done.output
    assert (failed.job_folder or Path()).is_dir()
    assert state_of(desk, failed.job) == "failed 7"
    job = desk.submit(*words, "--", "hang.py")
    until(lambda: (found := record(desk.folder, job)) and found.begin)
    time.sleep(3)
    desk.cluster.run(["scancel", str(job)])
    desk.cluster.wait(job, 120)
    cancelled = record(desk.folder, job)
    assert cancelled
    assert cancelled.outside == "was ended from outside"
    assert cancelled.status
    assert state_of(desk, job) == "ended from outside"


def test_a_job_that_is_killed_ended_without_a_word(desk: Desk) -> None:
    program(desk, "sleep 600")
    job = desk.submit(*TWO, *NOTHING)
    until(lambda: (found := record(desk.folder, job)) and found.begin)
    for process in processes_of(job):
        os.kill(process, signal.SIGKILL)
    desk.cluster.wait(job, 120)
    assert state_of(desk, job) == "ended without a word"


def test_an_array(desk: Desk) -> None:
    program(desk, 'exit "$1"')
    script = generate("sbatch", *TWO, "--array", "3-4", *NOTHING, "%a", cwd=desk.folder)
    array = desk.send(script)
    until(lambda: len([e for e in read_records(desk.folder / "jobgen-logs") if e.end]) == 2)
    found = {each.job: each.status for each in read_records(desk.folder / "jobgen-logs")}
    assert found == {f"{array}_3": 3, f"{array}_4": 4}
    folders = {each.job_folder for each in read_records(desk.folder / "jobgen-logs")}
    assert all(each and each.is_dir() for each in folders)
    assert len(folders) == 2


@pytest.mark.thorough
def test_a_chain(desk: Desk) -> None:
    """Its second job says that the training is done, and the third never begins."""
    program(desk, "[[ $SLURM_ARRAY_TASK_ID != 2 ]] || exit 93; echo > $SLURM_PROCID.pt; exit 3")
    words = ("--chain", "3", *TWO)
    chain = desk.send(generate("sbatch", *words, *NOTHING, cwd=desk.folder))
    until(lambda: len([e for e in read_records(desk.folder / "jobgen-logs") if e.end]) == 2, 400)
    assert state_of(desk, f"{chain}_1") == "goes on"
    assert state_of(desk, f"{chain}_2") == "done"


def test_a_job_that_is_requeued(desk: Desk) -> None:
    program(desk, "[[ ! -e first ]] || exit 0; touch first; sleep 600")
    job = desk.submit(*TWO, *NOTHING)
    until(lambda: (desk.folder / "first").exists())
    desk.cluster.run(["scontrol", "requeue", str(job)])
    until(lambda: (found := record(desk.folder, job)) and found.restarts == 1, 240)
    desk.cluster.wait(job, 240)
    ended = record(desk.folder, job)
    assert ended
    assert (ended.restarts, ended.status) == (1, 0)


@pytest.mark.parametrize("harm", ["read-only", "a file", "full"])
def test_a_record_that_cannot_be_written_changes_nothing(desk: Desk, harm: str) -> None:
    """Neither the status nor the output; root may write in a folder that is read-only."""
    program(desk, "echo ran; exit 5")
    logs = desk.folder / "jobgen-logs"
    job = desk.submit(*TWO, *NOTHING, options=["--hold"])
    if harm == "read-only":
        (logs / f"{job}.json").mkdir(parents=True)
        (logs / f"{job}.json/x").touch()
    elif harm == "a file":
        logs.mkdir()
        (logs / "scripts").touch()
    else:
        logs.mkdir()
        (logs / f"{job}.json.new").symlink_to("/dev/full")
    desk.cluster.run(["scontrol", "release", str(job)])
    done = desk.cluster.wait(job, 120)
    assert done.exit_code == 5
    assert "ran\n" in done.output
    assert not re.search("json|mv:|install:|sha256sum|No such file", done.output)


def test_pbs(pbs: PbsDesk) -> None:
    """Success, failure, qdel; a job of PBS has its server in its name."""
    pbs.program(
        "program.py", "import sys, time\ntime.sleep(int(sys.argv[2]))\nsys.exit(int(sys.argv[1]))\n"
    )
    words = ("--", "program.py")
    script = pbs.script(*words, "0", "0")
    job = pbs.send(script)
    assert pbs.site.wait(job, pbs.folder).status == 0
    ended = record(pbs.folder, job)
    assert ended
    assert (ended.status, ended.outside) == (0, "")
    assert script_of(ended).decode() == script
    hosts = [each.partition(".")[0] for each in ended.nodes.split()]
    assert hosts == ["blancapeak003", "blancapeak004"]
    assert ended.versions.startswith("torch 2")
    failed = pbs.submit(*words, "7", "0")
    pbs.site.wait(failed, pbs.folder)
    assert getattr(record(pbs.folder, failed), "status", None) == 7
    deleted = pbs.submit(*words, "0", "600")
    until(lambda: (found := record(pbs.folder, deleted)) and found.begin)
    time.sleep(3)
    pbs.site.delete(deleted)
    pbs.site.wait(deleted, pbs.folder)
    assert getattr(record(pbs.folder, deleted), "outside", None) == "was ended from outside"


def test_an_array_of_pbs(real: PbsDesk) -> None:
    real.program("program.py", "import sys\nsys.exit(int(sys.argv[1]))\n")
    array = real.submit("--array", "3-4", "--", "program.py", "%a")
    until(lambda: len([e for e in read_records(real.folder / "jobgen-logs") if e.end]) == 2, 240)
    number, _, server = array.partition("[]")
    found = {each.job: each.status for each in read_records(real.folder / "jobgen-logs")}
    assert found == {f"{number}[3]{server}": 3, f"{number}[4]{server}": 4}
