"""The cluster is what the other tests take it for, and leaves the machine alone."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster, missing


def machine() -> list[str]:
    """What a cluster must not touch: the machine's links, mounts and /etc/hosts."""
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    return [links, Path("/proc/self/mounts").read_text(), Path("/etc/hosts").read_text()]


def test_nodes_have_names_and_two_networks(cluster: Cluster) -> None:
    assert cluster.on("smc-r07-08", "hostname").stdout == "smc-r07-08\n"
    addresses = cluster.on("smc-r07-08", "ip", "-4", "-br", "addr", "show", "up").stdout.split()
    assert [word for word in addresses if "/24" in word] == ["10.71.0.10/24", "10.72.0.10/24"]
    named = cluster.on("smc-r07-08", "getent", "ahostsv4", "smc-r07-08").stdout.split()
    assert named[0] == "10.71.0.10"


def test_what_a_node_writes_to_etc_is_its_own(cluster: Cluster) -> None:
    cluster.on("dgx01", "sh", "-c", "echo here > /etc/jobgen-test")
    assert cluster.on("dgx01", "cat", "/etc/jobgen-test").stdout == "here\n"
    assert cluster.on("dgx02", "cat", "/etc/jobgen-test").returncode != 0
    assert not Path("/etc/jobgen-test").exists()


def test_a_job_runs_on_three_nodes(cluster: Cluster, tmp_path: Path) -> None:
    request = ["-p", "1CN128C8G2H_2IB_MI210_SLES15", "--exclusive", "--mem=0", "--gres=gpu:8"]
    script = "#!/bin/bash\nsrun sh -c 'echo \"$(hostname) $ROCR_VISIBLE_DEVICES\"'\n"
    job = cluster.sbatch(script, *request, "-N3", cwd=tmp_path)
    done = cluster.wait(job, 120)
    lines = [f"smc-r07-0{n} 0,1,2,3,4,5,6,7" for n in (7, 8, 9)]
    assert (done.state, sorted(done.output.splitlines())) == ("COMPLETED", lines)


def test_a_killed_owner_takes_the_cluster_along(tmp_path: Path) -> None:
    if reason := missing():
        pytest.skip(reason)
    before = machine()
    words = [sys.executable, "-m", "tests.cluster", "sleep", "1000"]
    owner = subprocess.Popen(
        words, cwd=Path(__file__).parents[2], env={**os.environ, "TMPDIR": str(tmp_path)}
    )
    while not list(tmp_path.glob("slurm*/pid/booted")):
        assert owner.poll() is None
        time.sleep(0.1)
    assert machine() == before
    owner.send_signal(signal.SIGKILL)
    owner.wait()
    limit = time.monotonic() + 60
    while left := processes_with(str(tmp_path)):
        assert time.monotonic() < limit, left
        time.sleep(0.1)
    assert machine() == before


def processes_with(text: str) -> list[str]:
    """The command lines that mention `text`, but this process's own."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environ = (entry / "environ").read_bytes().decode(errors="replace")
        except OSError:
            continue
        if int(entry.name) != os.getpid() and (text in line or f"TMPDIR={text}" in environ):
            found.append(line)
    return found
