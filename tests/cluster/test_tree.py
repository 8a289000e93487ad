"""Jobs of many nodes under PBS, whose nodes start one another: here a chain of three.

The scripts are those for many nodes, with other numbers: the first node starts the second, and that
the third.
"""

from __future__ import annotations

import re
import shutil
import time

import pytest

from tests.cluster.jobs import PbsDesk
from tests.cluster.site import NODES, OpenPbs
from tests.cluster.test_pbs import FIRST, RANKS, SECOND, SHOW, THIRD, sshd

MANY = "600"  # nodes of a script whose nodes are a tree


def chain(pbs: PbsDesk, *words: str, path: str = "") -> str:
    """Submit the script for many nodes as a chain, with `path` first on its PATH; its id."""
    script = pbs.script("-N", MANY, *words).replace("\nPATH=", f"\nPATH={path}")
    for pattern, text in (
        (rf"^nodes={MANY}\b|(?<= )nodes={MANY}\b", "nodes=3"),
        (rf"select={MANY}:", "select=3:"),
        (r"^fan_out=\d+", "fan_out=1"),
    ):
        script, count = re.subn(pattern, text, script, flags=re.MULTILINE)
        assert count == 1, pattern
    return pbs.send(script)


def hanging(pbs: PbsDesk, *words: str) -> str:
    """A chain whose ranks are all up, and end only by KILL; its id."""
    job = chain(pbs, *words, "--", pbs.program("ranks.py", RANKS), "hang")
    for rank in range(3):
        pbs.site.wait_for(f"up {rank}\n", job, pbs.folder)
    return job


def test_all_ranks_run(pbs: PbsDesk) -> None:
    words = ("--set", "request.chunk.mpiprocs=2", "--", pbs.program("show.py", SHOW))
    done = pbs.site.wait(chain(pbs, *words), pbs.folder)
    assert done.status == 0, done.output
    found = sorted(re.findall(r"rank \d of \d", done.output))
    assert found == [f"rank {rank} of 3" for rank in range(3)]


@pytest.mark.thorough
def test_each_node_starts_the_next_one(pbs: PbsDesk) -> None:
    """And qdel leaves nothing, though the ranks take no TERM."""
    job = hanging(pbs)
    site = pbs.site
    assert [len(site.pids(node, r"pbs_tmrsh \S+ bash")) for node in NODES] == [2, 1, 0]
    site.delete(job)
    assert site.wait(job, pbs.folder).status == 256 + 15
    assert site.leftovers() == {}


@pytest.mark.thorough
def test_a_node_in_the_middle_is_not_ready(pbs: PbsDesk) -> None:
    job = chain(pbs, "--set", 'software.commands=["[[ $(hostname) != blancapeak004 ]]"]')
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 1
    assert done.last.startswith(f"jobgen: {SECOND}: no answer: its set-up failed"), done.output
    assert done.output.count(" is ready, ") == 2


@pytest.mark.thorough
def test_a_node_in_the_middle_cannot_be_started(pbs: PbsDesk) -> None:
    """The node that should start it starts those below it, so that they answer."""
    (pbs.folder / "bin").mkdir()
    tool = pbs.folder / "bin/pbs_tmrsh"
    found = f"{pbs.site.folder}/bin/pbs_tmrsh"  # type: ignore[attr-defined]
    tool.write_text(f'#!/bin/sh\n[ "$1" != {SECOND} ] || exit 255\nexec {found} "$@"\n')
    tool.chmod(0o755)
    start = time.monotonic()
    done = pbs.site.wait(chain(pbs, path=f"{tool.parent}:"), pbs.folder)
    assert done.status == 1
    assert done.last.startswith(f"jobgen: {SECOND}: no answer: its set-up failed"), done.output
    for host in (FIRST, THIRD):
        assert f"jobgen: {host} is ready, " in done.output
    assert time.monotonic() - start < 120  # and not join_timeout


@pytest.mark.thorough
def test_a_rank_of_the_middle_fails(pbs: PbsDesk) -> None:
    job = chain(pbs, "--", pbs.program("ranks.py", RANKS), "crash", "1")
    done = pbs.site.wait(job, pbs.folder)
    assert done.status == 1, done.output
    assert done.last.startswith(f"jobgen: rank 1 on {SECOND} failed first: ended with status 3;")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("pattern", "node", "host"),
    [
        (r"pbs_tmrsh \S+ bash", NODES[1], THIRD),  # the starter of the last node
        (r"node\.sh start_branch 1 1$", NODES[1], SECOND),
        (r"torch\.distributed\.run", NODES[1], SECOND),
        (r"\d bash /.*node\.sh guard 1$", NODES[1], SECOND),
    ],
    ids=["starter", "branch", "torchrun", "guard"],
)
def test_a_process_of_the_middle_is_killed(
    pbs: PbsDesk, pattern: str, node: str, host: str
) -> None:
    job = hanging(pbs)
    pbs.site.kill(node, pattern)
    done = pbs.site.wait(job, pbs.folder)
    assert done.status in (137, 9), done.output  # 9: as pbs_tmrsh has it
    assert f"jobgen: {host}: ended with exit status {done.status}" in done.output
    assert pbs.site.leftovers() == {}


@pytest.mark.thorough
@pytest.mark.parametrize("starter", ["pbsdsh", "ssh"])
def test_other_starters(real: PbsDesk, starter: str) -> None:
    """Success; a node in the middle is lost, for ssh; qdel of a job whose ranks take no TERM."""
    site = real.site
    assert isinstance(site, OpenPbs)
    if starter == "ssh" and not (shutil.which("ssh") and shutil.which("sshd", path="/usr/sbin")):
        pytest.skip("ssh and sshd are not installed")
    end = sshd(site) if starter == "ssh" else lambda: None
    words = ("--set", f"launch.starter={starter}")
    try:
        done = site.wait(chain(real, *words), real.folder)
        assert done.status == 0, done.output
        if starter == "ssh":
            job = hanging(real, *words)
            site.kill(NODES[1], r"node\.sh start_branch 1 1$")
            assert site.wait(job, real.folder).status in (1, 137)
        job = hanging(real, *words)
        site.delete(job)
        assert site.wait(job, real.folder).status == 256 + 15
    finally:
        end()
