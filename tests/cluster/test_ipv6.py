"""A fabric without IPv4 on the real schedulers, which have an IPv4 network of their own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pytest

from tests.cluster.harness import Cluster
from tests.cluster.jobs import ON_CPU, Desk, PbsDesk

CHANGE = "ip addr flush dev hsn0 && ip addr add {} dev hsn0"
SHOW = """
import os, sys, torch
torch.distributed.init_process_group("gloo")
count = torch.ones(())
torch.distributed.all_reduce(count)
sys.stdout.write(f"at {os.environ['MASTER_ADDR']} of {int(count)}\\n")  # whole: others write, too
sys.stdout.flush()
torch.distributed.barrier()  # gloo fails where another rank leaves
torch.distributed.destroy_process_group()
"""


@contextmanager
def without_ipv4(cluster: Cluster, nodes: Sequence[str]) -> Iterator[None]:
    """Each node's address on the fabric is fd00::NUMBER meanwhile, its number being its place."""
    show = ("ip", "-4", "-br", "addr", "show", "dev", "hsn0")
    before = {node: cluster.on(node, *show).stdout.split()[2] for node in nodes}
    try:
        for number, node in enumerate(nodes, 1):
            change = CHANGE.format(f"fd00::{number}/64") + " nodad"
            assert cluster.on(node, "sh", "-c", change).returncode == 0
        yield
    finally:
        for node, address in before.items():
            cluster.on(node, "sh", "-c", CHANGE.format(address))


def shown(output: str) -> list[str]:
    return re.findall(r"\bat (fd00::\d+ of \d+)$", output, re.MULTILINE)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words",
    [
        ("-N", "2"),
        pytest.param(("-N", "2", "--rendezvous", "static"), marks=pytest.mark.thorough),
        pytest.param(("-N", "2", "--launcher", "srun"), marks=pytest.mark.thorough),
        pytest.param(("-N", "2", "--signal", "60", "-t", "10"), marks=pytest.mark.thorough),
        pytest.param(("-N", "2+1"), marks=pytest.mark.thorough),
        pytest.param(("-N", "2:2", "--max-restarts", "1"), marks=pytest.mark.thorough),
    ],
)
def test_jobs_of_slurm(desk: Desk, words: Sequence[str]) -> None:
    show = desk.program("show.py", SHOW)
    nodes = ("smc-r07-07", "smc-r07-08", "smc-r07-09")
    words = (*words, "-G", "1", "--set", "network.interface=hsn0", "--", show)
    with without_ipv4(desk.cluster, nodes):
        done = desk.run("--profile", "mi210", *ON_CPU, *words)
    assert (done.state, shown(done.output)) == ("COMPLETED", ["fd00::1 of 2"] * 2), done.output
    assert "smc-r07-08 is ready, fd00::2 on hsn0: torch " in done.output


def check_pbs(pbs: PbsDesk, *words: str) -> None:
    show = pbs.program("show.py", SHOW)
    nodes = ("blancapeak003", "blancapeak004", "blancapeak005")
    with without_ipv4(pbs.site.cluster, nodes):
        done = pbs.run(*words, "--", show)
    assert (done.status, shown(done.output)) == (0, ["fd00::1 of 2"] * 2), done.output


@pytest.mark.thorough
@pytest.mark.parametrize("nodes", ["2", "2+1"])
def test_jobs_of_pbs(pbs: PbsDesk, nodes: str) -> None:
    """The lead, and all that its agents send, is on the fabric."""
    check_pbs(pbs, "-N", nodes)


@pytest.mark.thorough
def test_mpiexec(real: PbsDesk) -> None:
    check_pbs(real, "-N", "2", "--set", "launch.starter=mpiexec-openmpi")
