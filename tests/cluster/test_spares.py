"""Jobs with spare nodes: the ranks run on those that are ready. A lost node: test_survival."""

from __future__ import annotations

import time

import pytest

from tests.cluster.harness import Finished
from tests.cluster.jobs import ON_CPU, Desk

JOB = ("--profile", "mi210", *ON_CPU, "-G", "1", "-t", "10")
WHERE = """
import os, sys, time, torch, torch.distributed as dist
dist.init_process_group("gloo")
number = torch.ones(1)
dist.all_reduce(number)
print("ran on", os.environ["SLURMD_NODENAME"], "of", int(number), flush=True)
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
    assert ("no answer, see above" in done.labelled) == (bad != "none")


def test_too_few(desk: Desk) -> None:
    program = desk.program("where.py", WHERE.replace("BREAKS", ""))
    done = desk.run(*JOB, *not_ready("0[79]$"), "-N", "2+1", "--", program)
    assert (done.state, where(done)) == ("FAILED", []), done.labelled
    assert done.labelled.count(": no answer, see above\n") == 2, done.labelled
    assert "jobgen: the job failed, with status 1: " in done.labelled


LATE = """
import os, pathlib, sys, time
if "torch.distributed.run" in sys.orig_argv and os.environ["SLURMD_NODENAME"] == "smc-r07-07":
    from torch.distributed.elastic.rendezvous import dynamic_rendezvous
    handler = dynamic_rendezvous.DynamicRendezvousHandler
    def late(self, join=handler.next_rendezvous):
        while not pathlib.Path("began").exists():
            time.sleep(0.1)
        return join(self)
    handler.next_rendezvous = late
"""


def test_the_first_node_may_stand_by(desk: Desk) -> None:
    """It joins when the others have ranks, which end with 0; then its own torchrun ends with 1."""
    desk.program("sitecustomize.py", LATE)
    program = desk.program("where.py", WHERE.replace("BREAKS", "open('began', 'w'); time.sleep(5)"))
    words = ("-N", "2+1", "--max-restarts", "2", "--env", f"PYTHONPATH={desk.folder}")
    done = desk.run(*JOB, *words, "--", program)
    assert done.state == "COMPLETED", done.labelled
    assert where(done) == [f"ran on smc-r07-{number} of 2" for number in ("08", "09")]
    assert "jobgen: smc-r07-07: ended with status 1\n" in done.labelled


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
