"""Jobs that fail, each by a fault of one rank or node: the last line names it, and `why` agrees.

`make test` tries a few of the faults, `make test-all` the others.
"""

from __future__ import annotations

import os
import re
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.harness import Finished
from tests.cluster.jobs import ON_CPU, Desk, PbsDesk, job_folders, without_memory_of_others
from tests.cluster.site import OpenPbs
from tests.helpers import diagnose_text

SIX = ("--profile", "mi210", *ON_CPU, "-N", "3", "-G", "2", "-t", "10")
TRAIN = """
import os, signal, sys, time
import torch
import torch.distributed as dist

def waiting_for_data():
    while True:
        time.sleep(1)

rank = int(os.environ["RANK"])
dist.init_process_group("gloo")
print(f"rank {rank} began", flush=True)
for step in range(1000):
    if step == 3 and rank == FAILING:
        FAULT
    dist.all_reduce(torch.ones(1000))
    time.sleep(0.05)
"""
# The statement that fails, the last line's words, and the class that `why` finds.
FAULTS = {
    "exception": (
        'raise ValueError("no such sample")',
        "ValueError: no such sample",
        "python-exception",
    ),
    "kill": ("os.kill(os.getpid(), signal.SIGKILL)", "killed by signal 9", "killed"),
    "segmentation": (
        "os.kill(os.getpid(), signal.SIGSEGV)",
        "crashed in compiled code (seg",
        "crash",
    ),
    "abort": ("os.abort()", "killed by signal 6", "crash"),
    "status": ("os._exit(3)", "ended with status 3", "launcher-report"),
    "import": ("import nothere", "Python does not find the module nothere", "import"),
    "disk": (
        'raise OSError(28, "No space left on device")',
        "No space left on device",
        "disk-full",
    ),
}


OFTEN = ("kill",)


def program(fault: str, rank: int) -> str:
    return TRAIN.replace("FAULT", fault).replace("FAILING", str(rank))


def check(output: str, rank: int, words: str, code: str, node: str = "") -> None:
    """The last line names the rank and the cause; `why` names the same."""
    output = without_memory_of_others(output)
    *_, end, line = output.splitlines()
    assert re.match(r"jobgen: the job failed, with status \d+: jobgen why \S+ reads /", end), output
    assert line.startswith(f"jobgen: rank {rank} on {node}"), output
    assert f" failed first: {words}" in line, output
    verdict = diagnose_text(output)
    assert (verdict.code or "") == code, output
    assert verdict.rank in (rank, None), output


@pytest.mark.thorough
@pytest.mark.parametrize("fault", [each for each in FAULTS if each not in OFTEN])
def test_each_fault_of_one_rank(fault: str, desk: Desk) -> None:
    test_fault_of_one_rank(fault, desk)


@pytest.mark.parametrize("fault", OFTEN)
def test_fault_of_one_rank(fault: str, desk: Desk) -> None:
    statement, words, code = FAULTS[fault]
    job = desk.submit(*SIX, "--", desk.program("train.py", program(statement, 4)))
    done = desk.cluster.wait(job, 180)
    assert done.state == "FAILED", done.labelled
    check(done.labelled, 4, words, code, "smc-r07-0")
    assert list(desk.folder.glob("jobgen-logs/*/*/*/attempt_0/1/stderr.log"))
    why = desk.cluster.run([sys.executable, "-m", "jobgen", "why", str(job)])  # by scontrol
    assert why.returncode == 0, why.stderr
    head = why.stdout.splitlines()[0]
    assert f"[{code}" in head, why.stdout
    assert "rank 4 " in head, why.stdout


@pytest.mark.thorough
def test_fault_of_all_ranks(desk: Desk) -> None:
    """No node is to blame."""
    text = program('raise ValueError("no such sample")', 4).replace("rank == 4", "True")
    done = desk.run(*SIX, "--", desk.program("train.py", text))
    assert ", and others alike, failed first: ValueError: no" in done.labelled.splitlines()[-1]
    verdict = diagnose_text(done.labelled)
    assert (verdict.code, verdict.node) == ("python-exception", None), done.labelled


@pytest.mark.thorough
def test_a_killed_torchrun(desk: Desk) -> None:
    done = desk.run(*SIX, "--", desk.program("train.py", program("os.kill(os.getppid(), 9)", 4)))
    line = done.labelled.splitlines()[-1]
    assert "jobgen: launcher on smc-r07-0" in line, done.labelled
    assert " failed first: killed by signal 9" in line


@pytest.mark.thorough
def test_a_job_that_ends_well_keeps_logs_only_where_they_are_wanted(desk: Desk) -> None:
    name = desk.program("train.py", program("break", 4).replace(" and rank == 4", ""))
    assert desk.run(*SIX, "--", name).state == "COMPLETED"
    assert not job_folders(desk.folder)
    done = desk.run(*SIX, "--log-dir", str(desk.folder / "kept"), "--", name)
    logs = desk.folder.glob("kept/*/smc-r07-07/*/attempt_0/*/stdout.log")
    assert [log.read_text() for log in sorted(logs)] == ["rank 0 began\n", "rank 1 began\n"]
    assert diagnose_text(done.labelled).code is None
    assert sum(line.endswith(" began") for line in done.labelled.splitlines()) == 6


STUCK = program("waiting_for_data()", 3)


def check_stall(output: str) -> None:
    line = output.splitlines()[-1]
    verdict = r"jobgen: the ranks hung: rank 3 on \S+ in train\.py:8 waiting_for_data[;,] "
    assert re.match(verdict, line), output
    waiting = r" (ranks? [\d, ]+|rank \d on \S+(, rank \d on \S+)*) in all_reduce"
    assert re.search(waiting, line), output
    assert output.count("no rank has written for 1 minutes: each writes its stack\n") == 1
    found = diagnose_text(output)
    assert (found.code, found.rank) == ("stalled", 3), output


@pytest.mark.thorough
def test_stall(desk: Desk) -> None:
    """A rank hangs in its own code, the others wait for it in a collective."""
    name = desk.program("train.py", STUCK)
    done: Finished = desk.run(*SIX, "--stall", "1", "--", name, timeout=300)
    check_stall(done.labelled)


@pytest.mark.thorough
def test_on_pbs(pbs: PbsDesk) -> None:
    name = pbs.program("train.py", program('raise ValueError("no such sample")', 1))
    ended = pbs.run("-N", "3", "--", name)
    check(ended.labelled, 1, "ValueError: no such sample", "python-exception", "blancapeak00")


@pytest.mark.thorough
def test_why_asks_qstat(real: PbsDesk) -> None:
    """As the job's user, who has qstat on PATH."""
    assert isinstance(real.site, OpenPbs)
    text = program('raise ValueError("no such sample")', 1)
    job = real.submit("-N", "2", "--", real.program("train.py", text))
    real.site.wait(job, real.folder)
    words = real.site.command(sys.executable, "-m", "jobgen", "why", job)
    why = real.site.cluster.run(words, cwd=real.folder)
    assert why.returncode == 0, why.stderr
    head = why.stdout.splitlines()[0]
    assert "rank 1 " in head, why.stdout
    assert "[python-exception" in head


@pytest.mark.thorough
def test_a_rank_that_ends_too_early(desk: Desk) -> None:
    """The others lose it; nobody says why, and no other rank is blamed."""
    done = desk.run(*SIX, "--", desk.program("train.py", program("os._exit(0)", 4)))
    line = done.labelled.splitlines()[-1]
    assert line.startswith("jobgen: rank 4 on smc-r07-09 failed first: it ended early"), line
    verdict = diagnose_text(done.labelled)
    assert verdict.code in (None, "peer-lost"), done.labelled
    assert verdict.rank in (None, 4), done.labelled


@pytest.mark.thorough
def test_two_faults_at_once(desk: Desk) -> None:
    """Either is right; a rank without a fault is not."""
    text = program('raise ValueError("no such sample")', 4).replace("rank == 4", "rank in (1, 4)")
    done = desk.run(*SIX, "--", desk.program("train.py", text))
    line = done.labelled.splitlines()[-1]
    assert line.startswith(("jobgen: rank 1 on ", "jobgen: rank 4 on ")), done.labelled
    assert "ValueError: no such sample" in line
    verdict = diagnose_text(done.labelled)
    assert verdict.code == "python-exception", done.labelled
    assert verdict.rank in (1, 4, None), done.labelled


@pytest.mark.thorough
def test_another_shape_in_a_collective(desk: Desk) -> None:
    """gloo may abort the rank whose shape differs; no other one is to blame."""
    statement = "dist.all_reduce(torch.ones(7)); time.sleep(600)"
    done = desk.run(*SIX, "--", desk.program("train.py", program(statement, 4)))
    assert done.state == "FAILED", done.labelled
    assert diagnose_text(done.labelled).rank in (4, None), done.labelled


def begun(desk: Desk, *options: str) -> int:
    """A job that Slurm shall not begin again, whose six ranks are at work."""
    words = [*SIX, *options, "--", desk.program("train.py", program("pass", 4))]
    job = desk.submit(*words, options=["--no-requeue"])
    output, limit = desk.folder / f"train-{job}.out", time.monotonic() + 180
    while not (output.exists() and output.read_text().count(" began") == 6):
        assert time.monotonic() < limit, output.exists() and output.read_text()
        time.sleep(0.5)
    return job


def ended(desk: Desk, job: int) -> str:
    """The output of a job, with its last line: Slurm may call it ended before its script has."""
    done = desk.cluster.wait(job, 180)
    for _ in range(60):
        if re.search(r"\njobgen: the job .*\n.*\n", done.labelled):  # and that of why
            break
        time.sleep(1)
        done = desk.cluster.wait(job, 180)
    return done.labelled


def check_ended_from_outside(desk: Desk, job: int, code: str) -> None:
    """No rank is to blame."""
    output = ended(desk, job)
    assert "\njobgen: the job was ended from outside, with status 143: jobgen why " in output, (
        output
    )
    verdict = diagnose_text(output)
    assert (verdict.code, verdict.node, verdict.rank) == (code, None, None), output


@pytest.mark.thorough
def test_a_cancelled_job(desk: Desk) -> None:
    job = begun(desk)
    desk.cluster.run(["scancel", str(job)])
    check_ended_from_outside(desk, job, "cancelled")


@pytest.mark.thorough
def test_a_preempted_job(desk: Desk) -> None:
    """A job of a partition of a higher tier gets the nodes."""
    job = begun(desk)
    urgent = ("PartitionName=urgent", "Nodes=smc-r07-[07-09]", "PriorityTier=10")
    desk.cluster.run(["scontrol", "create", *urgent])
    try:
        desk.cluster.sbatch("#!/bin/bash\nsleep 1\n", "-p", "urgent", cwd=desk.folder)
        check_ended_from_outside(desk, job, "preempted")
    finally:
        desk.cluster.run(["scontrol", "delete", "PartitionName=urgent"])


@pytest.mark.thorough
@pytest.mark.parametrize("option", ["--no-requeue", "--requeue"])
def test_a_lost_node(option: str, desk: Desk) -> None:
    """The others lose its ranks, long before Slurm notices. sbatch's --no-requeue wins."""
    job = begun(desk, *([option] if option == "--requeue" else []))
    desk.cluster.crash_node("smc-r07-09")
    try:
        output = ended(desk, job)
    finally:
        desk.cluster.start_node("smc-r07-09")
    if "\njobgen: the job " in output:  # Slurm may kill the script before it says that
        assert "\njobgen: node smc-r07-09 failed first: " in output, output
    verdict = diagnose_text(output)
    assert (verdict.code, verdict.node) == ("node-lost", "smc-r07-09"), output


MEMORY = Path("/sys/fs/cgroup/memory")  # of cgroups v1
OUT_OF_MEMORY = f"""
own = "{MEMORY}/jobgen-test-" + str(os.getpid())
os.mkdir(own)
for name, value in (("memory.limit_in_bytes", 600 << 20), ("cgroup.procs", os.getpid())):
    open(own + "/" + name, "w").write(str(value))
bytearray(2 << 30)
"""


def indented(statements: str) -> str:
    return statements.strip().replace("\n", "\n        ")


@pytest.mark.thorough
@pytest.mark.skipif(not os.access(MEMORY, os.W_OK), reason="no cgroup v1 for memory to write to")
def test_a_rank_that_takes_too_much_memory(desk: Desk) -> None:
    """The kernel kills it: the node's counter has one more, and no cgroup of the job says whose."""
    try:
        text = program(indented(OUT_OF_MEMORY), 4)
        done = desk.run(*SIX, "--", desk.program("train.py", text))
    finally:
        for folder in MEMORY.glob("jobgen-test-*"):
            folder.rmdir()
    line = done.labelled.splitlines()[-1]
    wanted = (
        r"jobgen: rank 4 on (\S+) failed first: killed by signal 9; on that node: .*memory ran out"
    )
    found = re.match(wanted, line)
    assert found, done.labelled
    verdict = diagnose_text(done.labelled)
    assert (verdict.code, verdict.rank) == ("host-memory", 4), done.labelled
    assert verdict.node == found[1]


FULL_SHM = """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
assert libc.unshare(0x00020000) == 0  # a mount namespace of its own
assert libc.mount(b"none", b"/", None, 0x44000, None) == 0  # private, with all below
assert libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, b"size=64k") == 0
torch.ones(1 << 20).share_memory_()
"""


@pytest.mark.thorough
def test_a_full_shared_memory(desk: Desk) -> None:
    done = desk.run(*SIX, "--", desk.program("train.py", program(indented(FULL_SHM), 4)))
    line = done.labelled.splitlines()[-1]
    assert line.startswith("jobgen: rank 4 on "), done.labelled
    verdict = diagnose_text(done.labelled)
    assert (verdict.code, verdict.rank) == ("shared-memory", 4), done.labelled


@pytest.mark.thorough
def test_the_walltime(desk: Desk) -> None:
    words = [*SIX[:-1], "1", "--", desk.program("train.py", program("time.sleep(600)", 4))]
    done = desk.run(*words, timeout=300)
    assert done.state == "TIMEOUT", done.labelled
    verdict = diagnose_text(done.labelled)
    assert verdict.code == "scheduler-limit", done.labelled
    assert (verdict.node, verdict.rank) == (None, None), done.labelled


@pytest.mark.thorough
def test_qdel(pbs: PbsDesk) -> None:
    """No rank is to blame."""
    job = pbs.submit("-N", "2", "--", pbs.program("train.py", program("pass", 4)))
    time.sleep(30)
    pbs.site.delete(job)
    ended = pbs.site.wait(job, pbs.folder)
    assert " failed first: " not in ended.labelled
    assert diagnose_text(ended.labelled).rank is None, ended.labelled


LINES = """
import os, sys
for number in range(100):
    for part in (f"line {number} ", "x" * 3000, "\\n"):
        sys.stdout.write(part)
        sys.stdout.flush()
sys.stdout.write("the last")
"""


@pytest.mark.thorough
@pytest.mark.parametrize("launcher", ["torchrun", "srun"])
def test_long_lines_stay_whole(desk: Desk, launcher: str) -> None:
    """Written by halves, too. In the job's log they may mix, for six ranks write theirs at once."""
    name = desk.program("train.py", LINES)
    words = ("--log-dir", str(desk.folder / "kept"), "--launcher", launcher)
    done = desk.run(*SIX, *words, "--", name)
    assert done.state == "COMPLETED", done.labelled[-2000:]
    labels = re.findall(r"smc-r07-0[789] rank (\d): line ", done.labelled)
    assert set(labels) == set("012345")
    files = list((desk.folder / "kept").rglob("stdout.log"))
    wanted = "".join(f"line {number} {'x' * 3000}\n" for number in range(100)) + "the last"
    assert [file.read_text() == wanted for file in files] == [True] * 6
