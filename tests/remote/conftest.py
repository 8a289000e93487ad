"""A login node with stand-ins for Slurm, and a folder here, for the tests of --host."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobgen.submission.login import Login
from tests.remote.ssh_host import SshHost, missing

NAME = "my 'project' $x `y`!%"  # of the folder here, and of that there
# Stand-ins for Slurm's commands. A job is a script that runs at once, in its own folder, as sbatch
# starts it: the id counts the scripts that were taken.
SBATCH = """\
if [[ -e $HOME/refuses ]]; then echo "sbatch: error: no such partition" >&2; exit 1; fi
exec 9> "$HOME/lock"; flock 9
id=$(($(cat "$HOME/last" 2> /dev/null || echo 11) + 1))
mkdir -p "$HOME/taken/$id"; cat > "$HOME/taken/$id/script"
printf %s "$PWD" > "$HOME/taken/$id/folder"
echo $id > "$HOME/last"
echo "step 1" > "slurm-$id.out"
echo "$id"
"""
SCONTROL = """\
id=${!#} folder=$(cat "$HOME/taken/${!#}/folder" 2> /dev/null) || {
  echo "slurm_load_jobs error: Invalid job id specified" >&2; exit 1; }
echo "JobId=$id JobName=x"
echo "   JobState=$(cat "$HOME/state" 2> /dev/null || echo COMPLETED) Reason=None Dependency=(null)"
code=$(cat "$HOME/code" 2> /dev/null || echo 0)
echo "   Requeue=1 Restarts=0 BatchFlag=1 Reboot=0 ExitCode=$code:0"
echo "   RunTime=00:01:03 TimeLimit=1-00:00:00 TimeMin=N/A"
echo "   WorkDir=$folder"
echo "   StdOut=$folder/slurm-$id.out"
"""


@pytest.fixture
def host(tmp_path: Path) -> Iterator[SshHost]:
    if reason := missing():
        pytest.skip(reason)
    made = SshHost(tmp_path / "host")
    made.add("sbatch", SBATCH)
    made.add("scontrol", SCONTROL)
    yield made
    made.stop()


@pytest.fixture
def second(host: SshHost, tmp_path: Path) -> Iterator[SshHost]:
    """Another cluster, login2."""
    made = SshHost(tmp_path / "second", name="login2")
    made.add("sbatch", SBATCH)
    host.introduce(made)
    yield made
    made.stop()


@pytest.fixture
def login(host: SshHost, monkeypatch: pytest.MonkeyPatch) -> Login:
    for name, value in host.here.items():
        monkeypatch.setenv(name, value)
    return Login("login1")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / NAME
    made.mkdir()
    (made / "train.py").write_text("print('trained')\n")
    return made
