"""A program that ends with 93 is not started again, whichever launcher tells the script so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cluster.jobs import ON_CPU, Desk, PbsDesk

TWO = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1")
LINE = "jobgen: the program ended with 93, so nothing starts it again\n"
# One rank, or one node, ends; the others would wait for ever, and are killed for it.
ENDS = """#!/usr/bin/env python3
import os, sys, time
number = os.environ.get("JOBGEN_NODE") or os.environ["RANK"]
with open("started", "a") as file:
    file.write(number + "\\n")
while len(open("started").read().split()) % 2:  # both start before one of them ends the other
    time.sleep(0.05)
if number == "1":
    sys.exit(93)
time.sleep(1000)
"""
PROGRAM = ("--", "./ends.py")


def started(folder: Path) -> list[str]:
    return sorted((folder / "started").read_text().split())


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "starts"),
    [
        (("--requeue",), 1),
        # torchrun itself does not know 93.
        pytest.param(("--max-restarts", "1"), 2, marks=pytest.mark.thorough),
        pytest.param(
            ("--requeue", "-N", "2+1", "--max-restarts", "1"), 2, marks=pytest.mark.thorough
        ),
        pytest.param(("--requeue", "--launcher", "srun"), 1, marks=pytest.mark.thorough),
        pytest.param(("--max-restarts", "2", "--launcher", "node"), 1, marks=pytest.mark.thorough),
    ],
    ids=["torchrun", "restarts", "spares", "srun", "node"],
)
def test_a_job_of_slurm(desk: Desk, words: tuple[str, ...], starts: int) -> None:
    desk.program("ends.py", ENDS)
    job = desk.submit(*TWO, *words, *PROGRAM)
    done = desk.cluster.wait(job, 180)
    assert (done.state, done.exit_code) == ("FAILED", 93), done.output
    assert done.output.count(LINE) == 1, done.output
    assert "start again" not in done.output.replace(LINE, "")
    assert started(desk.folder) == sorted(["0", "1"] * starts), done.output
    shown = desk.cluster.run(["scontrol", "show", "job", str(job)]).stdout
    assert f"Requeue={int('--requeue' not in words)} Restarts=0 " in shown


def test_a_job_of_pbs(pbs: PbsDesk) -> None:
    (pbs.folder / pbs.program("ends.py", ENDS)).chmod(0o755)
    done = pbs.run("--launcher", "node", "--max-restarts", "2", *PROGRAM)
    assert done.status == 93, done.output
    assert done.output.count(LINE) == 1, done.output
    assert started(pbs.folder) == ["0", "1"], done.output
