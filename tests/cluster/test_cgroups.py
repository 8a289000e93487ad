"""Jobs whose processes the scheduler tracks by cgroup.

Slurm's signals then reach only slurmstepd's own children; PBS's hook ends what a job has left.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tests.cluster.harness import Cluster, missing
from tests.cluster.jobs import Desk, PbsDesk
from tests.cluster.site import NODES, USER, OpenPbs, prefix
from tests.cluster.test_heart import OTHER, PROFILE, STEPS, output, until
from tests.cluster.test_pbs import ALL_TOGETHER, RANKS, SECOND, start_and_kill, started

ALL = Path("/sys/fs/cgroup")
FREEZER = ALL / "freezer"
HOOKED = ("cpuacct", "cpuset", "memory")  # what PBS's hook uses as it comes
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
os.write(1, f"saved {os.environ['RANK']}\\n".encode())
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
        for controller in (FREEZER.name, *HOOKED):
            remove(ALL / controller / cgroups.name)


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


# ---- PBS ----


def parts(cluster: Cluster, node: str) -> list[Path]:
    """The node's own part of each hierarchy of the hook."""
    assert cluster.cgroups
    return [ALL / controller / cluster.cgroups.name / node for controller in HOOKED]


def give_parts(cluster: Cluster, node: str) -> None:
    for part in parts(cluster, node):
        part.mkdir(parents=True)
        for file in ("cpuset.cpus", "cpuset.mems"):  # nobody may enter a new one, without
            for folder in (part.parent, part):
                if (folder / file).exists():
                    (folder / file).write_text((folder.parent / file).read_text())
        done = cluster.on(node, "mount", "--bind", str(part), str(part.parents[1]))
        assert done.returncode == 0, done.stderr


def has_hook(cluster: Cluster, node: str) -> bool:
    """A mom runs the hook at a HUP, once the server has sent it."""
    cluster.on(node, "pkill", "-HUP", "pbs_mom")
    time.sleep(1)
    return all((part / "pbs_jobs.service/jobid").exists() for part in parts(cluster, node))


@pytest.fixture(scope="module")
def site(cluster: Cluster) -> Iterator[OpenPbs]:
    """An OpenPBS of its own, with its cgroups hook as it comes."""
    if not (folder := prefix()):
        pytest.skip("no OpenPBS here: PBS_LAB_PREFIX names none, and no qsub is on PATH")
    if lacking := [each for each in HOOKED if not os.access(ALL / each, os.W_OK)]:
        pytest.skip(f"no cgroups of version 1 that this user may write to: {', '.join(lacking)}")
    with TemporaryDirectory(prefix="home") as home:
        running = OpenPbs(cluster, folder, Path(home))
        if reason := running.missing():
            pytest.skip(reason)
        for node in NODES:
            give_parts(cluster, node)
        enable = "set hook pbs_cgroups enabled=true"
        done = cluster.run([str(folder / "bin/qmgr"), "-c", enable])
        assert done.returncode == 0, done.stderr
        for node in NODES:
            until(lambda node=node: has_hook(cluster, node), 60)  # type: ignore[misc]
        until(lambda: running.tool("pbsnodes", "-aS").stdout.count(" free ") == len(NODES), 60)
        yield running


# The hook finds no GPU, and the memory of who asks for none is 256 MB.
SMALL = ("-G", "0", "--set", "request.memory=1G")


def test_pbs_runs_a_job(pbs: PbsDesk) -> None:
    done = pbs.run(*SMALL)
    assert done.status == 0, done.output
    assert ALL_TOGETHER.search(done.output)[1] == "2"  # type: ignore[index]


def test_pbs_gives_one_core_to_the_ranks_of_a_profile_that_knows_none(pbs: PbsDesk) -> None:
    """The default of ncpus, to which the hook's cpuset holds them."""
    own = ("request.gpu_option=none", "request.memory=1G", "node.cpus=null")
    unknown = ("-G", "4", *(word for each in own for word in ("--set", each)))
    ranks = ("--set", "launch.processes_per_node=4")
    done = pbs.run(*unknown, *ranks)
    assert done.status == 1, done.output
    problem = "1 of 4 cores for its ranks (bound: no): --set request.cpus_per_node=N\n"
    assert f"jobgen: {SECOND}: {problem}" in done.output
    cured = pbs.run(*unknown, *ranks, "--set", "request.cpus_per_node=2")
    assert cured.status == 0, cured.output


def test_pbs_has_every_process_in_the_job_s_cgroup(pbs: PbsDesk) -> None:
    """Also those in sessions of their own; qdel leaves none, and no cgroup."""
    job = started(pbs, *SMALL, "--", pbs.program("ranks.py", RANKS), "hang")
    cluster = pbs.site.cluster
    for node in NODES[:2]:
        listed = cluster.on(node, "ps", "-u", str(USER), "-o", "pid=,sid=").stdout.split()
        assert len(set(listed[1::2])) >= 3  # the agent's, the keeper's, the rank's
        files = [f"/proc/{pid}/cgroup" for pid in listed[::2]]
        of_hook = cluster.on(node, "grep", "-h", "jobid", *files).stdout.splitlines()
        assert len(of_hook) == len(HOOKED) * len(files)
        assert all(line.endswith(f"/{node}/pbs_jobs.service/jobid/{job}") for line in of_hook)
    pbs.site.delete(job)
    assert pbs.site.wait(job, pbs.folder).status == 256 + 15
    assert pbs.site.leftovers() == {}
    assert not [each for node in NODES for part in parts(cluster, node) for each in part.rglob(job)]


@pytest.mark.parametrize("victim", ["torchrun", "keeper"])
def test_pbs_ends_a_job_when_a_process_is_killed(pbs: PbsDesk, victim: str) -> None:
    start_and_kill(pbs, victim, *SMALL)


def test_pbs_ends_a_rank_that_has_lost_all_keepers(pbs: PbsDesk) -> None:
    """It would stay without the hook."""
    job = started(pbs, *SMALL, "--", pbs.program("ranks.py", RANKS), "hang")
    pbs.site.kill("blancapeak004", r"keeper\.py agent|torch\.distributed\.run")
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 1, done.output
    assert f"\njobgen: {SECOND}: no longer answers" in done.output


def test_pbs_warns_the_ranks(pbs: PbsDesk) -> None:
    words = (*SMALL, "-t", "80", "--signal", "65", "--", pbs.program("saves.py", SAVES))
    done = pbs.run(*words)
    assert done.status == 0, done.output
    assert done.output.count("saved ") == 2
