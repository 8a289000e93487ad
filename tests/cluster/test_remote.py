"""`--host` with a real sshd before a real Slurm: from the script to what comes back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster
from tests.cluster.jobs import PATH
from tests.cluster.test_submit import ONE
from tests.helpers import jobgen
from tests.remote.ssh_host import SshHost, missing


@pytest.fixture
def host(cluster: Cluster, tmp_path: Path) -> Iterator[SshHost]:
    if reason := missing():
        pytest.skip(reason)
    conf = cluster.environment()["SLURM_CONF"]
    enter = [*cluster.command([]), "env", f"SLURM_CONF={conf}"]
    pytest.importorskip("torch", reason="the job's ranks need torch: pip install '.[trainers]'")
    made = SshHost(tmp_path / "host", enter=enter)
    made.set_shell("bash", f"PATH={PATH}")
    yield made
    made.stop()


def test_a_job_from_a_laptop(host: SshHost, tmp_path: Path) -> None:
    folder = tmp_path / "it's mine"
    folder.mkdir()
    (folder / "train.py").write_text("import sys; print('trained'); sys.exit(int(sys.argv[1]))\n")
    words = (*ONE, "--code", ".", "--host", "login1", "--wait", "--", "train.py")
    done = jobgen(*words, "0", cwd=folder, env=host.here)
    assert done.returncode == 0, done.stderr.decode()
    job = done.stdout.decode().strip()
    (output,) = folder.glob(f"*{job}*")
    assert "trained" in output.read_text()
    record = json.loads((folder / f"jobgen-logs/hosts/login1/{job}.json").read_text())
    assert (record["job"], record["status"]) == (job, 0)
    assert record["end"] >= record["begin"]
    done = jobgen(*words, "3", cwd=folder, env=host.here)
    assert done.returncode == 3, done.stderr.decode()
    failed = done.stdout.decode().strip()
    done = jobgen("why", failed, "--host", "login1", cwd=folder, env=host.here)
    assert done.returncode in (0, 1), done.stderr.decode()
    done = jobgen("runs", "--host", "login1", cwd=folder, env=host.here)
    shown = (f"login1:{job} ", f"login1:{failed} ")
    lines = [line for line in done.stdout.decode().splitlines() if line.startswith(shown)]
    assert len(lines) == 2
    assert "failed" in lines[1]
