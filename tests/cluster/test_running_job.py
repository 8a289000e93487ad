"""`jobgen why` of real jobs that have not ended: one hangs, one waits for nodes, one fails."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cluster.jobs import ON_CPU, Desk, PbsDesk
from tests.cluster.site import OpenPbs

ROOT = Path(__file__).parent.parent.parent  # this one, also for a user without our variables
WHY = ("env", f"PYTHONPATH={ROOT}", sys.executable, "-m", "jobgen", "why")
TRAIN = """
import os, time
import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
dist.init_process_group("gloo")
for step in range(100):
    if step == 3 and rank == 1:
        open("hangs", "w").close()
        time.sleep(600)
    dist.all_reduce(torch.ones(1))
    while rank == 1 and not os.path.exists(f"step{step}"):  # it shall be the last
        time.sleep(0.05)
    time.sleep(0.2 * rank)
    print(f"rank {rank} took step {step}", flush=True)
    if rank == 0:
        open(f"step{step}", "w").close()
"""
# A rank reports an error, and the job goes on until the test has seen that `why` says so.
FAILS = """
import os, sys, time

if os.environ["RANK"] == "1":
    print("ValueError: the label 1001 has no class", file=sys.stderr, flush=True)
while not os.path.exists("was-said"):
    time.sleep(0.1)
sys.exit(os.environ["RANK"] == "1")
"""
FAILED = "failed first: ValueError: the label 1001"


def silent_for(seconds: float, folder: Path) -> None:
    """Wait until a rank hangs, and let its job seem to have been silent for so long."""
    limit = time.monotonic() + 120
    while not (folder / "hangs").exists():
        assert time.monotonic() < limit, list(folder.rglob("std*.log"))
        time.sleep(0.2)
    time.sleep(1)
    for file in folder.rglob("std*.log"):
        found = file.stat()
        os.utime(file, (found.st_atime, found.st_mtime - seconds))


def check(lines: list[str], node: str) -> None:
    assert re.match(r"no failure found: the job is RUNNING(, |$)", lines[0]), lines
    silence = rf"note: no rank has written for 1 hour; the last was rank 1 on {node}: "
    assert re.match(f"{silence}rank 1 took step 2$", lines[1]), lines
    assert re.match(r"note: --stall \d+ would have ended it by now, ", lines[2]), lines


def test_on_slurm(desk: Desk) -> None:
    words = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1", "-t", "10")
    job = desk.submit(*words, "--", desk.program("train.py", TRAIN))
    try:
        silent_for(3700, desk.folder)
        done = desk.cluster.run([*WHY, str(job)])
        check(done.stdout.splitlines(), "smc-r07-0[789]")
        assert done.returncode == 1
        waiting = desk.submit(*words, options=[f"--dependency=afterok:{job}"])
        done = desk.cluster.run([*WHY, str(waiting)])
        pending = r"no failure found: the job is PENDING \(\w+\)\n"
        assert re.fullmatch(pending, done.stdout), done
        assert (done.returncode, done.stderr) == (1, "")
        desk.cluster.run(["scancel", str(waiting)])
    finally:
        desk.cluster.run(["scancel", str(job)])
    desk.cluster.wait(job, 60)


@pytest.mark.thorough
def test_on_openpbs(real: PbsDesk) -> None:
    assert isinstance(real.site, OpenPbs)
    job = real.submit("-N", "2", "--", real.program("train.py", TRAIN))
    silent_for(3700, real.folder)
    done = real.site.cluster.run(real.site.command(*WHY, job), cwd=real.folder)
    check(done.stdout.splitlines(), r"blancapeak00[345]\S*")
    waiting = real.submit("-N", "2", "--after", job)
    done = real.site.cluster.run(real.site.command(*WHY, waiting), cwd=real.folder)
    assert done.stdout.startswith("no failure found: the job is HELD"), done
    real.site.delete(waiting)
    real.site.delete(job)


def follow(command: Sequence[str], folder: Path, env: dict[str, str]) -> str:
    """Follow a job; what is said at its end, if the failure was said while it ran."""
    with open(folder / "said", "wb") as said, open(folder / "verdict", "wb") as verdict:
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=verdict, stderr=said
        )
    limit = time.monotonic() + 120
    while FAILED not in (folder / "said").read_text():
        assert time.monotonic() < limit, (folder / "said").read_text()
        assert process.poll() is None, (folder / "said").read_text()
        time.sleep(0.2)
    (folder / "was-said").touch()
    assert process.wait(120) == 0
    return (folder / "verdict").read_text()


@pytest.mark.thorough
def test_follow_on_slurm(desk: Desk) -> None:
    words = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1", "-t", "10")
    job = desk.submit(*words, "--", desk.program("fails.py", FAILS))
    command = desk.cluster.command([*WHY, "--follow", str(job)])
    text = follow(command, desk.folder, desk.cluster.environment())
    assert re.match(rf"rank 1 on smc-r07-0[789] {FAILED}", text), text
    assert desk.cluster.wait(job, 60).state == "FAILED"


@pytest.mark.thorough
def test_follow_on_openpbs(real: PbsDesk) -> None:
    assert isinstance(real.site, OpenPbs)
    job = real.submit("-N", "2", "--", real.program("fails.py", FAILS))
    command = real.site.cluster.command(real.site.command(*WHY, "--follow", job))
    text = follow(command, real.folder, real.site.cluster.environment())
    assert re.match(r"rank 1 on blancapeak00[345]\S* failed first: ValueError: the label", text), (
        text
    )
