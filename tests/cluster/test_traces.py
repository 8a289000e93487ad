"""What a cluster that was killed, or podman in one, must not leave behind."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster, missing


def test_a_folder_of_a_killed_cluster_can_be_used_again(tmp_path: Path) -> None:
    if reason := missing():
        pytest.skip(reason)
    with Cluster(tmp_path) as first:
        first.stop()
    with Cluster(tmp_path) as second:
        assert second.on("dgx01", "hostname").stdout == "dgx01\n"


def test_podman_keeps_its_state_off_the_machine(cluster: Cluster) -> None:
    """Locks and containers of this machine's own podman would else be mixed up with these."""
    if not shutil.which("podman"):
        pytest.skip("podman is not installed")
    for path in ("/run", "/dev/shm"):
        inside = cluster.on("dgx01", "stat", "-c", "%d", path).stdout
        assert int(inside) != Path(path).stat().st_dev, path
    assert cluster.on("dgx01", "podman", "ps", "-aq").returncode == 0


def test_the_signal_of_a_job(cluster: Cluster, tmp_path: Path) -> None:
    done = cluster.wait(cluster.sbatch("#!/bin/bash\nkill -9 $$\n", cwd=tmp_path), 30)
    assert (done.state, done.exit_code, done.signal) == ("FAILED", 0, 9)
