"""A job ends with the status of the rank that failed first; 143 is an end from outside alone."""

from __future__ import annotations

import pytest

from tests.cluster.jobs import ON_CPU, Desk, PbsDesk

TWO = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "2")
# The last rank, or the last node's program, fails; the others have to be ended for it.
FAILS = """#!/usr/bin/env python3
import ctypes, os, signal, sys, time
number = os.environ.get("JOBGEN_NODE") or os.environ["RANK"]
last = os.environ.get("JOBGEN_NODES") or os.environ["WORLD_SIZE"]
time.sleep(1)
if int(number) == int(last) - 1:
    FAULT
time.sleep(1000)
"""
FAULTS = {
    "exception": ('raise ValueError("no such sample")', 1),
    "exit": ("sys.exit(7)", 7),
    "kill": ("os.kill(os.getpid(), signal.SIGKILL)", 137),
    "segmentation": ("ctypes.string_at(0)", 139),
}


WAYS = {
    "torchrun": (),
    "srun": ("--launcher", "srun"),
    "node": ("--launcher", "node"),
    "one node": ("-N", "1"),
    "one node, srun": ("-N", "1", "--launcher", "srun"),
    "keeper": ("--stall", "90"),
    "keeper, node": ("--stall", "90", "--launcher", "node"),
    "restarts": ("--max-restarts", "1"),
    "restarts, node": ("--max-restarts", "1", "--launcher", "node"),
    "spares": ("-N", "2+1", "--max-restarts", "1"),
}
QUICK = {
    *(("torchrun", "exit"), ("torchrun", "kill"), ("srun", "kill")),
    *(("node", "segmentation"), ("keeper, node", "kill")),
}


@pytest.mark.parametrize(
    ("way", "fault"),
    [
        pytest.param(way, fault, marks=() if (way, fault) in QUICK else pytest.mark.thorough)
        for way in WAYS
        for fault in FAULTS
    ],
)
def test_a_job_of_slurm(desk: Desk, way: str, fault: str) -> None:
    statement, status = FAULTS[fault]
    program = desk.program("fails.py", FAILS.replace("FAULT", statement))
    done = desk.run(*TWO, *WAYS[way], "--", f"./{program}")
    assert (done.state, done.exit_code) == ("FAILED", status), done.labelled
    assert f"\njobgen: the job failed, with status {status}: jobgen why " in done.labelled


OPENMPI = (
    *("--set", "launch.starter=mpiexec-openmpi"),
    *("-e", "OMPI_ALLOW_RUN_AS_ROOT=1", "-e", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1"),
)
PBS_WAYS = {
    "lead": (),
    "lead, node": ("--launcher", "node"),
    "mpiexec": OPENMPI,
    "mpiexec, ranks": (*OPENMPI, "--launcher", "mpiexec"),
}


@pytest.mark.parametrize("fault", ["exit", pytest.param("kill", marks=pytest.mark.thorough)])
@pytest.mark.parametrize(
    "way",
    [
        pytest.param(way, marks=() if way in ("lead", "mpiexec, ranks") else pytest.mark.thorough)
        for way in PBS_WAYS
    ],
)
def test_a_job_of_pbs(pbs: PbsDesk, way: str, fault: str) -> None:
    statement, status = FAULTS[fault]
    name = pbs.program("fails.py", FAILS.replace("FAULT", statement))
    (pbs.folder / name).chmod(0o755)
    done = pbs.run(*PBS_WAYS[way], "--", f"./{name}")
    assert done.status == status, done.output
    assert f"\njobgen: the job failed, with status {status}: jobgen why " in done.output
