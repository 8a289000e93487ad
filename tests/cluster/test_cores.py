"""A Slurm that binds tasks to cores, as most sites' does: what the ranks of a node get of them.

The nodes have more cores in slurm.conf than this machine has, and all of them are this machine's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

import pytest

from tests.cluster.harness import Cluster, Finished, missing
from tests.cluster.jobs import ON_CPU, Desk, generate

WORDS = ("--profile", "dgx-a100", *ON_CPU)
UNKNOWN = ("--set", "node.cpus=null", "-G", "4")
ALL = len(os.sched_getaffinity(0))
# What a job has in its environment that was submitted from a step of an interactive one.
INHERITED = {"SLURM_CPU_BIND": "quiet,map_cpu:0"}

pytestmark = pytest.mark.skipif(ALL < 2 or os.cpu_count() != ALL, reason="needs two cores or more")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A Slurm of its own."""
    if reason := missing():
        pytest.skip(reason)
    with Cluster(tmp_path_factory.mktemp("slurm"), binds=True) as running:
        yield running


def run(
    desk: Desk, *words: str, options: tuple[str, ...] = (), env: Mapping[str, str] | None = None
) -> Finished:
    script = generate("sbatch", *WORDS, *words, "--", "./show.sh", cwd=desk.folder)
    desk.program("show.sh", "#!/bin/sh\necho rank $RANK: $(env -u OMP_NUM_THREADS nproc) cores\n")
    environment = {"PATH": desk.path, **(env or {})}
    return desk.cluster.wait(
        desk.cluster.sbatch(script, *options, cwd=desk.folder, env=environment), 120
    )


def test_ranks_that_would_share_one_core_do_not_start(desk: Desk) -> None:
    """torchrun has the binding of its step, and its ranks have torchrun's."""
    done = run(desk, env=INHERITED)
    assert done.state == "FAILED"
    for node in ("dgx01", "dgx02"):
        problem = "1 of 32 cores for its ranks (bound: quiet,map_cpu:0)"
        assert f"jobgen: {node}: {problem}: --set launch.cpu_bind=none\n" in done.labelled
    assert "\nrank " not in done.output
    assert "jobgen: node dgx01, and others alike, failed first: 1 of 32 cores" in done.output


@pytest.mark.parametrize(
    "launcher",
    ["torchrun", *(pytest.param(each, marks=pytest.mark.thorough) for each in ("node", "srun"))],
)
def test_the_cure_of_an_inherited_binding(desk: Desk, launcher: str) -> None:
    done = run(desk, "--launcher", launcher, "--set", "launch.cpu_bind=none", env=INHERITED)
    assert done.state == "COMPLETED", done.labelled
    assert f": {ALL} cores\n" in done.output


@pytest.mark.thorough
def test_a_profile_that_knows_no_cores(desk: Desk) -> None:
    """Slurm then gives a task one, for the ranks of four GPUs."""
    done = run(desk, *UNKNOWN)
    assert done.state == "FAILED"
    assert "jobgen: dgx01: 1 of 4 cores for its ranks (bound: " in done.labelled
    assert "): --set request.cpus_per_node=N\n" in done.labelled
    for cure, options in (
        (("--set", "request.cpus_per_node=16"), ()),
        (("--set", "request.cpus_per_gpu=4"), ()),
        (("--exclusive",), ()),  # all cores of a node, as the warning has it
        ((), ("-c16",)),
    ):
        done = run(desk, *UNKNOWN, *cure, options=options)
        assert done.state == "COMPLETED", done.labelled
        assert "rank 7: " in done.output
        assert "rank 7: 1 cores\n" not in done.output


@pytest.mark.thorough
def test_more_cores_for_a_job_of_one_node(desk: Desk) -> None:
    """Its step is told what sbatch was; else --exact gives it one."""
    exact = ("--set", "launch.srun_options=[--exact]")
    done = run(desk, "-N", "1", *UNKNOWN, *exact, options=("-c16",))
    assert done.state == "COMPLETED", done.labelled
    assert "rank 3: " in done.output
    assert "rank 3: 1 cores\n" not in done.output


@pytest.mark.thorough
def test_one_core_for_two_ranks_where_a_person_says_so(desk: Desk) -> None:
    done = run(desk, "--set", "request.cpus_per_node=1")
    assert done.state == "COMPLETED", done.labelled
    assert ", 1 cores, 1 expected, memlock " in done.labelled
    assert "rank 3: 1 cores\n" in done.output


@pytest.mark.thorough
def test_a_step_without_the_job_s_cores(desk: Desk) -> None:
    """Without SRUN_CPUS_PER_TASK, where a site's srun takes no more than it was asked for."""
    script = generate("sbatch", *WORDS, "-N", "2", "--", "true", cwd=desk.folder)
    edited = script.replace("export SRUN_CPUS_PER_TASK", "unset SRUN_CPUS_PER_TASK; no")
    done = desk.cluster.wait(desk.send(edited.replace("=(srun ", "=(srun --exact ")), 120)
    assert "jobgen: dgx02: 1 of 32 cores for its ranks (bound: quiet,mask_cpu:" in done.labelled
    assert "): --set request.cpus_per_node=N\n" in done.labelled
