"""Jobs with spare nodes: the ranks run on those that are ready. A lost node: test_survival."""

from __future__ import annotations

import re
import time

import pytest

from tests.cluster.harness import Finished
from tests.cluster.jobs import ON_CPU, Desk

JOB = ("--profile", "mi210", *ON_CPU, "-G", "1", "-t", "10")
WHERE = """
import os, sys, torch, torch.distributed as dist
dist.init_process_group("gloo")
number = torch.ones(1)
dist.all_reduce(number)
print(f"ran on {os.environ['SLURMD_NODENAME']} of {int(number)}\\n", end="", flush=True)
BREAKS
dist.barrier()
dist.destroy_process_group()  # else gloo may abort
"""


def not_ready(names: str) -> tuple[str, ...]:
    """The set-up fails on the nodes whose names match."""
    return ("--set", f'software.commands=["[[ ! $SLURMD_NODENAME =~ {names} ]] || exit 1"]')


def where(done: Finished) -> list[str]:
    lines = done.labelled.splitlines()
    return sorted(line[line.index("ran on") :] for line in lines if "ran on" in line)


@pytest.mark.parametrize(
    ("bad", "launcher"),
    [
        ("07$", "torchrun"),
        pytest.param("08$", "srun", marks=pytest.mark.thorough),
        pytest.param("none", "torchrun", marks=pytest.mark.thorough),
    ],
)
def test_the_first_that_are_ready(desk: Desk, bad: str, launcher: str) -> None:
    """Also if the first node, where the script runs, is not."""
    program = desk.program("where.py", WHERE.replace("BREAKS", ""))
    words = (*not_ready(bad), "-N", "2+1", "--launcher", launcher, "--", program)
    done = desk.run(*JOB, *words)
    assert done.state == "COMPLETED", done.labelled
    ready = [number for number in ("07", "08", "09") if number + "$" != bad]
    assert where(done) == [f"ran on smc-r07-{number} of 2" for number in ready[:2]]
    reserve = "smc-r07-09" if bad == "none" else "no node"
    names = ",".join(f"smc-r07-{number}" for number in ready[:2])
    assert f"jobgen: the ranks run on {names}; in reserve: {reserve}\n" in done.labelled
    assert ("set-up stopped at: no message" in done.labelled) == (bad != "none")


def test_too_few(desk: Desk) -> None:
    program = desk.program("where.py", WHERE.replace("BREAKS", ""))
    done = desk.run(*JOB, *not_ready("0[79]$"), "-N", "2+1", "--", program)
    assert (done.state, where(done)) == ("FAILED", []), done.labelled
    stopped = r"(?m)^jobgen: smc-r07-0[79]: its set-up stopped at: no message: "
    assert len(re.findall(stopped, done.labelled)) == 2, done.labelled
    assert "jobgen: the job failed, with status 1: " in done.labelled


# Rank 1 fails, once or always, while the other has no reason to.
FAILS = """
import os, pathlib, sys, time
up, failed, rank = pathlib.Path("up"), pathlib.Path("failed"), os.environ["RANK"]
again = failed.exists()
sys.stdout.write(f"ran on {os.uname().nodename}\\n")
sys.stdout.flush()
if rank == "0":
    up.touch()
while not up.exists():
    time.sleep(0.1)
time.sleep(3)
if rank == "1" and (not again or len(sys.argv) > 1):
    failed.touch()
    sys.exit(3)
time.sleep(3 if again and len(sys.argv) == 1 else 600)  # no node ends before the other one fails
"""


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("words", "state"),
    [([], "COMPLETED"), pytest.param(["always"], "FAILED", marks=pytest.mark.thorough)],
)
def test_a_rank_fails_and_the_reserve_has_no_part_in_it(
    desk: Desk, words: list[str], state: str
) -> None:
    """With a torchrun that stood by, the others would restart each other without an end."""
    program = desk.program("fails.py", FAILS)
    done = desk.run(*JOB, "-N", "2+1", "--max-restarts", "1", "--", program, *words)
    assert done.state == state, done.labelled
    assert where(done) == sorted([f"ran on smc-r07-{number}" for number in ("07", "08")] * 2)
    assert "its place is free" not in done.labelled


@pytest.mark.thorough
def test_a_torchrun_is_killed_and_the_reserve_takes_its_place(desk: Desk) -> None:
    text = (
        "import os, time\nline = 'ran on {SLURMD_NODENAME}\\n'.format(**os.environ)\n"
        "os.write(1, line.encode())\n"
        "time.sleep(600 if os.environ['TORCHELASTIC_RESTART_COUNT'] == '0' and"
        " not os.path.exists('killed') else 1)\n"
    )
    job = desk.submit(
        *JOB, "-N", "2+1", "--max-restarts", "1", "--", desk.program("waits.py", text)
    )
    limit = time.monotonic() + 120
    while "".join(file.read_text() for file in desk.folder.glob("*.out")).count("ran on") < 2:
        assert time.monotonic() < limit
        time.sleep(0.5)
    (desk.folder / "killed").touch()
    desk.cluster.on("smc-r07-08", "pkill", "-KILL", "-f", r"torch\.distributed\.run")
    done = desk.cluster.wait(job, 120)
    assert done.state == "COMPLETED", done.labelled
    assert where(done) == [f"ran on smc-r07-{n}" for n in ("07", "07", "08", "09")], done.labelled
    assert "\njobgen: smc-r07-09: takes the place of a node that is lost\n" in done.labelled


@pytest.mark.thorough
def test_without_a_spare_the_job_goes_back(desk: Desk) -> None:
    """It excludes the nodes that are not ready, and waits for others."""
    program = desk.program("where.py", WHERE.replace("BREAKS", ""))
    job = desk.submit(*JOB, *not_ready("0[79]$"), "-N", "2+1", "--requeue", "--", program)
    back = "jobgen: the job goes back to the queue, without smc-r07-07,smc-r07-09\n"
    limit = time.monotonic() + 120
    while back not in "".join(file.read_text() for file in desk.folder.glob("*.out")):
        assert time.monotonic() < limit
        time.sleep(0.5)
    desk.cluster.run(["scancel", str(job)])
