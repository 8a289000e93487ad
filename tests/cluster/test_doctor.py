"""The trainer doctor on the real Slurm: it names the node that a test made slow, and no other.

The faults are real: a limit on the node's link (netem, or the token bucket where the kernel has no
netem), and a quota of the CPU's time for the node's processes.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.harness import Cluster, Finished
from tests.cluster.jobs import ON_CPU, PATH, Desk

NODE, NUMBER = "smc-r07-08", 10  # the last number of its addresses
WORDS = (
    *("--profile", "mi210", *ON_CPU, "-N", "3", "-G", "1", "-t", "10"),
    *("--set", "network.interface=hsn0", "--trainer", "doctor"),
    *("--", "--cluster", "lab", "--to", "1M"),
)
QUEUES = (
    ("netem", "rate", "100mbit", "delay", "1ms"),
    ("tbf", "rate", "100mbit", "burst", "32kb", "latency", "50ms"),
)
CPU = Path("/sys/fs/cgroup/cpu")  # of cgroups v1
GROUP = CPU / f"jobgen-doctor-{os.getpid()}"


@contextmanager
def healthy(_: Cluster) -> Iterator[Callable[[], object]]:
    yield lambda: None


@contextmanager
def slow_link(cluster: Cluster) -> Iterator[Callable[[], object]]:
    """Both ends of the node's link on the fabric are slow, from the start."""

    def run(action: str, *queue: str) -> bool:
        tc = ["tc", "qdisc", action, "dev"]
        at_node = cluster.on(NODE, *tc, "hsn0", "root", *queue)
        at_switch = cluster.run([*tc, f"f{NUMBER}", "root", *queue])
        return at_node.returncode == at_switch.returncode == 0

    try:
        assert any(run("add", *queue) for queue in QUEUES), "tc takes none of them"
        yield lambda: None
    finally:
        run("del")


@contextmanager
def slow_processor(cluster: Cluster) -> Iterator[Callable[[], object]]:
    """The node's processes get a twentieth of a CPU, as soon as the ranks measure."""
    move = "for pid in $(pgrep {}); do echo $pid > {}/cgroup.procs || :; done"
    quota = GROUP / "cpu.cfs_quota_us"  # in each 100,000 us
    GROUP.mkdir()
    try:
        cluster.on(NODE, "sh", "-c", move.format("slurmd", GROUP))
        yield lambda: quota.write_text("5000")
    finally:
        quota.write_text("-1")
        cluster.on(NODE, "sh", "-c", move.format(".", CPU))
        GROUP.rmdir()


FAULTS = {"healthy": healthy, "link": slow_link, "processor": slow_processor}


def run_with(desk: Desk, fault: str) -> Finished:
    """A job of doctor on three nodes, one of which may have a fault."""
    with FAULTS[fault](desk.cluster) as begin:
        job = desk.submit(*WORDS)
        output, limit = desk.folder / f"doctor-{job}.out", time.monotonic() + 120
        while not (output.exists() and " nodes measure\n" in output.read_text()):
            assert time.monotonic() < limit, output.exists() and output.read_text()
            time.sleep(0.1)
        begin()
        return desk.cluster.wait(job, 180)


def check(desk: Desk, fault: str) -> None:
    """doctor names the node with the fault, if there is one, and no other."""
    done = run_with(desk, fault)
    (file,) = (desk.folder / "jobgen-doctor").glob("*.json")
    results: dict[str, Any] = json.loads(file.read_text())
    bad = [] if fault == "healthy" else [NODE]
    assert results["verdict"]["exclude"] == bad, done.output
    assert results["lines"][0] == "jobgen doctor: 3 ranks on 3 nodes measure"
    assert [node["address"] for node in results["nodes"]] == [f"10.72.0.{n}" for n in (9, 10, 100)]
    if bad:
        assert f"exclude it: --set request.exclude={NODE}\n" in done.labelled
        assert done.state == "FAILED"
    else:
        # Not the last line: a torchrun may say that another one has ended before it.
        assert "\njobgen doctor: no node is slower than the others\n" in done.output
        assert done.state == "COMPLETED"


NEEDS = pytest.mark.skipif(
    not os.access(CPU / "cgroup.procs", os.W_OK), reason="no cgroup v1 of CPUs"
)
FAULT = pytest.mark.parametrize(
    "fault",
    [
        "healthy",
        "link",
        pytest.param("processor", marks=NEEDS),
    ],
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "turn" in metafunc.fixturenames:
        metafunc.parametrize("turn", range(max(1, metafunc.config.getoption("--faults") - 1)))


@pytest.mark.thorough
@FAULT
def test_the_node_with_a_fault_is_named(fault: str, desk: Desk) -> None:
    check(desk, fault)


@pytest.mark.thorough(3)
@FAULT
def test_each_time(fault: str, turn: int, desk: Desk) -> None:
    """`pytest --faults 21`: 20 times."""
    check(desk, fault)


@pytest.mark.thorough
def test_the_command_follows_the_job_and_draws_the_report(desk: Desk) -> None:
    words = ("--profile", "mi210", *ON_CPU, "-N", "2", "-G", "1", "--wait")
    command = [sys.executable, "-m", "jobgen", "doctor", *words]
    done = desk.cluster.run(command, cwd=desk.folder, env={"PATH": PATH}, timeout=200)
    lines = done.stderr.splitlines()
    assert done.returncode == 0, done.stderr
    assert lines[-2] == "jobgen: doctor: no node is slower than the others"
    (page,) = (desk.folder / "jobgen-doctor").glob("*.html")
    assert lines[-1] == f"jobgen: the report is jobgen-doctor/{page.name}"
