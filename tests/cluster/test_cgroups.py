"""Jobs where Slurm tracks processes by cgroup: its signals reach only slurmstepd's own children."""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster, missing
from tests.cluster.jobs import Desk
from tests.cluster.test_heart import OTHER, PROFILE, STEPS, output, until

FREEZER = Path("/sys/fs/cgroup/freezer")
NO_FREEZER = "this kernel has no freezer of cgroup version 1 that this user may write to"

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not os.access(FREEZER, os.W_OK), reason=NO_FREEZER),
]

SAVES = """
import os, signal, sys, time, torch, torch.distributed as dist
saved = []
signal.signal(signal.SIGUSR1, lambda *_: saved.append(1))
dist.init_process_group("gloo")
print("began", flush=True)
while True:
    both = torch.tensor(float(len(saved)))
    dist.all_reduce(both)
    if both:
        break
    time.sleep(0.05)
print("saved", os.environ["RANK"], flush=True)
dist.barrier()
dist.destroy_process_group()
"""


def remove(cgroups: Path) -> None:
    """Its processes were killed, and may need a moment."""
    limit = time.monotonic() + 20
    while cgroups.exists():
        for folder, _, _ in os.walk(cgroups, topdown=False):
            with suppress(OSError):
                os.rmdir(folder)
        assert time.monotonic() < limit
        time.sleep(0.2)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Slurm of its own."""
    if reason := missing():
        pytest.skip(reason)
    cgroups = FREEZER / f"jobgen-{uuid.uuid4().hex[:8]}"
    cgroups.mkdir()
    try:
        with Cluster(tmp_path_factory.mktemp("slurm"), cgroups=cgroups) as running:
            yield running
    finally:
        remove(cgroups)


@pytest.fixture
def desk(cluster: Cluster, tmp_path: Path) -> Desk:
    pytest.importorskip("torch", reason="the jobs' ranks need torch: pip install '.[trainers]'")
    return Desk(cluster, tmp_path)


def is_empty(desk: Desk) -> bool:
    return not desk.cluster.on(OTHER, "pgrep", "-f", "steps.py").stdout


def test_the_cgroup_is_the_job_s(desk: Desk) -> None:
    done = desk.run(*PROFILE, "-N", "2", "-G", "1", "--", "cat", "/proc/self/cgroup")
    assert done.state == "COMPLETED", done.output
    assert done.output.count("freezer:/") == 2
    assert "/job_" in done.output


def test_a_warning_reaches_the_ranks(desk: Desk) -> None:
    """And not torchrun, which it would end."""
    program = desk.program("saves.py", SAVES)
    job = desk.submit(*PROFILE, "-N", "2", "-G", "2", "--signal", "60", "--", program)
    until(lambda: output(desk).count("began") == 4)
    desk.cluster.run(["scancel", "--batch", "--signal=USR1", str(job)])
    done = desk.cluster.wait(job, 120)
    assert done.state == "COMPLETED", done.labelled
    assert done.output.count("saved ") == 4


def test_a_signal_for_all_steps_ends_no_torchrun(desk: Desk) -> None:
    program = desk.program("steps.py", STEPS.replace("2000", "200"))
    job = desk.submit(*PROFILE, "-N", "2", "-G", "1", "--signal", "60", "--", program)
    until(lambda: output(desk).count("began") == 2)
    desk.cluster.run(["scancel", "--signal=USR1", str(job)])
    done = desk.cluster.wait(job, 120)
    assert done.state == "COMPLETED", done.labelled


@pytest.mark.parametrize("keeper", [False, True])
def test_nothing_is_left_of_a_killed_torchrun(desk: Desk, keeper: bool) -> None:
    program = desk.program("steps.py", STEPS)
    words = ("--signal", "60") if keeper else ()
    job = desk.submit(*PROFILE, "-N", "2", "-G", "1", *words, "--", program)
    until(lambda: output(desk).count("began") == 2)
    desk.cluster.on(OTHER, "pkill", "-KILL", "-f", "torch.distributed.run")
    done = desk.cluster.wait(job, 120)
    assert done.state == "FAILED", done.labelled
    assert f"launcher on {OTHER} failed first: killed by signal 9" in done.labelled
    until(lambda: is_empty(desk), 20)


def test_scancel_leaves_nothing(desk: Desk) -> None:
    program = desk.program("steps.py", STEPS)
    job = desk.submit(*PROFILE, "-N", "2", "-G", "1", "--signal", "60", "--", program)
    until(lambda: output(desk).count("began") == 2)
    desk.cluster.run(["scancel", str(job)])
    desk.cluster.wait(job, 60)
    until(lambda: is_empty(desk), 20)
