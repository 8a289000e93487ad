"""--host, with connections that are cut: nothing is lost, half-written or submitted twice."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from jobgen.cli.app import run_words
from jobgen.errors import JobgenError
from jobgen.submission import follow, login
from tests.remote.conftest import NAME, SBATCH
from tests.remote.ssh_host import SshHost
from tests.remote.test_host import PROFILE

pytestmark = pytest.mark.slow

WORDS = ("sbatch", *PROFILE, "--code", ".", "--host", "login1", "--wait", "--", "train.py")
# Kills the sshd above the command, but not the one that listens, whose parent is another program.
HANG_UP = """\
pid=$PPID
while parent=$(sed -n 's/^PPid:\\t//p' /proc/$pid/status) && ((parent > 1)); do
  [[ $(< /proc/$pid/comm) != sshd* || $(< /proc/$parent/comm) != sshd* ]] || found+=" $pid"
  pid=$parent
done
kill -9 $found
"""
Run = Callable[[], tuple[int, str, str]]


@pytest.fixture
def run(
    host: SshHost,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> Run:
    """`jobgen sbatch --wait` in this process, with short pauses; its status, stdout and stderr."""
    host.add("hang_up", HANG_UP)
    for module in (follow, login):
        monkeypatch.setattr(module, "sleep", lambda _: time.sleep(0.05))
    for name, value in host.here.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(folder)

    def run() -> tuple[int, str, str]:
        status = run_words([*WORDS])
        return (status, *capfd.readouterr())

    return run


def taken(host: SshHost) -> list[str]:
    """The jobs that were submitted."""
    jobs = host.home / "taken"
    return sorted(each.name for each in jobs.iterdir()) if jobs.is_dir() else []


def check_store(host: SshHost) -> None:
    """What has a copy's name is whole."""
    store = host.home / f"jobgen/{NAME}/.jobgen/store/code"
    for copy in [each for each in store.iterdir() if each.is_dir() and len(each.name) == 32]:
        assert (copy / "train.py").read_text() == "print('trained')\n"
        assert copy.stat().st_mode & 0o777 == 0o500


def test_an_answer_that_is_lost(host: SshHost, run: Run) -> None:
    host.add("sbatch", f"{SBATCH}\nhang_up; echo {'x' * 10}")
    status, output, errors = run()
    assert (status, output) == (0, "12\n")
    assert "trying again: nothing is submitted twice" in errors
    assert taken(host) == ["12"]


def test_an_answer_that_never_comes(host: SshHost, run: Run) -> None:
    host.add("sbatch", f"{SBATCH}\nhang_up; kill -9 $PPID")
    host.add("sleep", "exit")
    with pytest.raises(JobgenError, match="it is not known whether sbatch took the script"):
        run()
    assert taken(host) == ["12"]


@pytest.mark.parametrize(
    "number", [3, *(pytest.param(number, marks=pytest.mark.thorough) for number in (2, 4, 5, 6, 7))]
)
def test_each_command_is_cut_once(number: int, host: SshHost, run: Run) -> None:
    count = "n=$(($(cat ~/n 2> /dev/null) + 1)); echo $n > ~/n"
    host.set_shell("bash", f"{count}; [[ $n != {number} ]] || ~/bin/hang_up")
    status, output, _ = run()
    assert (status, output, taken(host)) == (0, "12\n", ["12"])
    check_store(host)


def test_a_copy_that_is_cut_goes_on(host: SshHost, folder: Path, run: Run) -> None:
    for name in "abcdefgh":
        (folder / name).write_bytes(random.Random(name).randbytes(30_000))
    text = host.folder / "login_shell"
    text.write_text(text.read_text().replace("cd\n", 'cd\nexport PATH="$HOME/bin:$PATH"\n'))
    host.add(
        "rsync",
        "echo >> ~/runs; (($(wc -l < ~/runs) > 2)) || exec < <(dd bs=1 count=120000 status=none)\n"
        'exec /usr/bin/rsync "$@"',
    )
    status, output, errors = run()
    assert (status, output, taken(host)) == (0, "12\n", ["12"])
    assert "trying again" in errors
    check_store(host)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 6))]
)
def test_cuts_at_random_moments(seed: int, host: SshHost, run: Run) -> None:
    chance = random.Random(seed)
    (host.home / "state").write_text("RUNNING")

    def cut() -> None:
        for _ in range(12):
            time.sleep(chance.random() * 1.5)
            host.cut()
        (host.home / "state").write_text("COMPLETED")

    thread = threading.Thread(target=cut)
    thread.start()
    status = None
    while status is None:
        with suppress(JobgenError):  # the very first connection was cut
            status, output, _ = run()
    thread.join()
    assert (status, output, taken(host)) == (0, "12\n", ["12"])
    check_store(host)
