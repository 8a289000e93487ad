"""`jobgen detect --host`: the profile of a cluster whose login node is reached by ssh."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.helpers import jobgen
from tests.remote.ssh_host import SshHost
from tests.test_detect import STANDINS, LoginNode, login, slurm_login, values  # noqa: F401


@pytest.mark.slow
def test_the_profile_is_that_of_the_login_node(
    host: SshHost,
    slurm_login: LoginNode,  # noqa: F811
    tmp_path: Path,
) -> None:
    for name in (*STANDINS, "scontrol"):
        host.add(name, f'echo "$0 $*" >> ~/asked; exec {slurm_login.bin / name} "$@"')
    if not shutil.which("tcsh"):
        pytest.skip("there is no tcsh")
    host.set_shell("tcsh", "echo noise")
    done = jobgen("detect", "--host", "login1", cwd=tmp_path, env=host.here)
    assert (done.returncode, done.stderr) == (0, b"")
    here = values(slurm_login.run().stdout)
    of_host = values(done.stdout)
    keys = ("scheduler", "partition", "request", "node", "limits", "account")
    assert {key: of_host.get(key) for key in keys} == {key: here.get(key) for key in keys}
    assert not (host.home / "jobgen").exists()


@pytest.mark.slow
def test_a_node_without_a_scheduler(host: SshHost, tmp_path: Path) -> None:
    words = ("detect", "--host", "login1", "--queue", "gpu")
    done = jobgen(*words, cwd=tmp_path, env=host.here)
    assert done.returncode == 2
    assert b"detect: there is no scheduler on login1: no pbsnodes on PATH" in done.stderr
    done = jobgen("detect", "--host", "login1", "--probe", cwd=tmp_path, env=host.here)
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"--probe: the compute node answers in a folder there" in done.stderr
