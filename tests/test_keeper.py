"""The keeper and its orders, with real processes."""

from __future__ import annotations

import ast
import contextlib
import functools
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from jobgen.keeper import keep
from jobgen.keeper.carried import keeper_text
from jobgen.keeper.orders import obey
from tests.kept import SOON, Marked, marked, parent, wait_for

pytestmark = pytest.mark.slow  # they wait for real processes

# Writes one letter for each TERM that it gets.
COUNTS = """
import os, signal, sys, time
path = f"{sys.argv[1]}/counts.{os.getpid()}"
signal.signal(signal.SIGTERM, lambda *_: open(path, "a").write("T"))
open(path, "w").close()
while True: time.sleep(60)
"""

# After TERM, it needs half a second of time that it runs.
SAVES = """
import signal, sys, time
def save(*_):
    open(f"{sys.argv[1]}/saving", "w").close()
    for _ in range(10): time.sleep(0.05)
    open(f"{sys.argv[1]}/saved", "w").close()
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
open(f"{sys.argv[1]}/ready", "w").close()
while True: time.sleep(60)
"""

# Rank 1 sets its handler late; each has a forked worker, which inherits it.
WARNED = """
import os, signal, sys, time
def warned(*_):
    with open(f"{sys.argv[1]}/warned.{os.getpid()}", "a") as file:
        file.write(os.environ["LOCAL_RANK"])
late = os.environ["LOCAL_RANK"] == "1"
open(f"{sys.argv[1]}/ready.{os.getpid()}", "w").close()
time.sleep(1.5 * late)
signal.signal(signal.SIGUSR1, warned)
if os.fork() == 0: open(f"{sys.argv[1]}/ready.{os.getpid()}", "w").close()
while True: time.sleep(60)
"""

# A handler comes and goes, as at the end of a rank, and the rank ends soon.
ENDS = """
import signal, time
end = time.monotonic() + 0.2
while time.monotonic() < end:
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.signal(signal.SIGUSR1, signal.SIG_DFL)
"""

SLEEPS = """
import os, sys, time
def stuck_here():
    open(f"{sys.argv[1]}/ready.{os.getpid()}", "w").close()
    time.sleep(600)
stuck_here()
"""


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Marked]:
    with marked(tmp_path) as processes:
        yield processes


def deaf(node: Marked, ranks: int = 2, then: str = "wait") -> str:
    """A bash that starts deaf ranks, of four processes each."""
    start = f"{sys.executable} {node.folder}/deaf.py {node.folder} &"
    return " ".join([start] * ranks) + " " + then


def all_deaf(node: Marked, ranks: int = 2) -> bool:
    return wait_for(lambda: len(list(node.folder.glob("deaf.*[0-9]"))) == 4 * ranks)


def test_the_carried_text_is_short_and_old_enough() -> None:
    for text, most in (
        (Path(keep.__file__).read_text(), 60),
        (keeper_text(False, with_orders=False), 60),
        (keeper_text(False), 110),
        (keeper_text(True, with_orders=False), 202),
        (keeper_text(True), 251),
    ):
        ast.parse(text, feature_version=(3, 6))
        lines = text.splitlines()
        assert len(lines) <= most
        assert max(map(len, lines)) <= 100
        assert "jobgen.keeper" not in text


@pytest.mark.parametrize(
    ("command", "status", "line"),
    [
        ("exit 0", 0, ""),
        ("exit 7", 7, "jobgen: h1: ended with status 7\n"),
        ("kill -9 $$", 137, "jobgen: h1: was killed by signal 9\n"),
        ("kill -ABRT $$", 134, "jobgen: h1: was killed by signal 6\n"),
    ],
)
def test_status(node: Marked, command: str, status: int, line: str) -> None:
    started = node.keep("bash", "-c", f"echo out; {command}")
    assert started.communicate(timeout=SOON) == ("out\n", line)
    assert started.returncode == status


def test_a_command_sees_ordinary_signals_and_descriptors(node: Marked) -> None:
    words = ("grep", "-E", "^Sig(Blk|Ign)", "/proc/self/status")
    as_here = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout
    assert node.keep(*words).communicate(timeout=SOON)[0] == as_here


def test_what_the_command_leaves_is_ended(node: Marked) -> None:
    ready = f"until [[ $(ls {node.folder}/deaf.*[0-9] | wc -l) = 8 ]]; do sleep 0.1; done; exit 3"
    started = node.keep("bash", "-c", deaf(node, then=ready + " 2> /dev/null"))
    assert started.wait(timeout=SOON) == 3
    assert not node.pids()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_from_outside_ends_all(node: Marked, number: int) -> None:
    started = node.keep("bash", "-c", deaf(node))
    assert all_deaf(node)
    begin = time.monotonic()
    started.send_signal(number)
    assert started.communicate(timeout=SOON)[1] == ""
    assert time.monotonic() - begin > 0.9
    assert not node.pids()


def test_each_process_gets_one_term_and_no_other_signal_ends_the_keeper(node: Marked) -> None:
    program = node.folder / "counts.py"
    program.write_text(COUNTS)
    command = (
        f"trap : TERM; python3 {program} {node.folder} & python3 {program} {node.folder} & wait"
    )
    started = node.keep("bash", "-c", command, grace=2)
    assert wait_for(lambda: len(list(node.folder.glob("counts.*[0-9]"))) == 2)
    for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGQUIT, signal.SIGALRM):
        for pid in node.named("keeper.py"):
            os.kill(pid, number)
    started.send_signal(signal.SIGTERM)
    started.send_signal(signal.SIGTERM)
    started.wait(timeout=SOON)
    assert [path.read_text() for path in node.folder.glob("counts.*[0-9]")] == ["T", "T"]


@pytest.mark.parametrize("victim", ["stub", "keeper", "command", "starter"])
def test_nothing_is_left_when_one_process_is_killed(node: Marked, victim: str) -> None:
    starter = ["bash", "-c", '"$@"; :', "-"]
    words = ["-I", "-S", node.program, "keep", 1, node.folder, "h1", "bash", "-c", deaf(node)]
    started = subprocess.Popen(
        [*starter, sys.executable, *map(str, words)],
        env=node.environment,
        stderr=subprocess.DEVNULL,
    )
    assert all_deaf(node)
    stub, keeper = [pid for pid in node.named("keeper.py") if pid != started.pid]
    command = next(pid for pid in node.named("bash -c") if parent(pid) == keeper)
    os.kill({"stub": stub, "keeper": keeper, "command": command, "starter": started.pid}[victim], 9)
    started.wait(timeout=SOON)
    assert not node.remaining()


@pytest.mark.parametrize("victim", [0, 3, 6, 7])
def test_a_killed_rank_leaves_nothing_when_its_launcher_ends(node: Marked, victim: int) -> None:
    started = node.keep("bash", "-c", deaf(node, then="wait -n"))
    assert all_deaf(node)
    os.kill(node.named("deaf.py")[victim], 9)
    if victim not in (0, 1) and started.poll() is None:
        started.terminate()
    started.communicate(timeout=SOON)
    assert not node.pids()


@pytest.mark.thorough
def test_a_suspend_does_not_use_up_the_grace(node: Marked) -> None:
    program = node.folder / "saves.py"
    program.write_text(SAVES)
    started = node.keep("python3", program, node.folder, grace=3)
    assert wait_for((node.folder / "ready").exists)
    started.terminate()
    assert wait_for((node.folder / "saving").exists)
    for number, pause in ((signal.SIGSTOP, 5), (signal.SIGCONT, 0)):
        for pid in node.pids():
            with contextlib.suppress(ProcessLookupError):  # a short one has ended
                os.kill(pid, number)
        time.sleep(pause)
    started.communicate(timeout=SOON)
    assert (node.folder / "saved").exists()


def order(node: Marked, name: str) -> None:
    (node.folder / "orders").mkdir(exist_ok=True)
    (node.folder / "orders" / name).touch()


def launch(node: Marked, program: str, ranks: int = 1, then: str = "wait") -> subprocess.Popen[str]:
    """A launcher that handles no USR1, and its ranks."""
    (node.folder / "rank.py").write_text(program)
    start = f"python3 -X faulthandler {node.folder}/rank.py {node.folder}"
    lines = [
        f"LOCAL_RANK={rank} RANK={10 + rank} {start} 2> {node.folder}/err.{rank} &"
        for rank in range(ranks)
    ]
    return node.keep("bash", "-c", " ".join([*lines, then]))


def files(node: Marked, pattern: str, number: int) -> bool:
    return wait_for(lambda: len(list(node.folder.glob(pattern))) == number)


def test_a_warning_reaches_each_rank_with_a_handler_once(node: Marked) -> None:
    started = launch(node, WARNED, ranks=2)
    assert files(node, "ready.*", 4), "two ranks, and a forked worker of each"
    order(node, "warn")
    assert files(node, "warned.*", 2)
    time.sleep(2.5)  # the order stands; the late handler of rank 1 is there by now
    assert sorted(path.read_text() for path in node.folder.glob("warned.*")) == ["0", "1"]
    assert started.poll() is None
    started.terminate()
    started.communicate(timeout=SOON)


def test_ranks_that_end_are_not_killed_by_a_warning(node: Marked) -> None:
    """F2: between its handler and its end, a rank is back at the default action."""
    order(node, "warn")
    mine = {"JOBGEN_KEEPER": str(os.getpid()), "LOCAL_RANK": "0"}
    start = functools.partial(
        subprocess.Popen, [sys.executable, "-S", "-c", ENDS], env={**node.environment, **mine}
    )
    running, ends, step = [start() for _ in range(4)], [], obey(str(node.folder), "h1")
    begin = time.monotonic()
    while time.monotonic() < begin + 4 or len(ends) <= 20:
        next(step)
        ends += [rank.returncode for rank in running if rank.poll() is not None]
        running = [rank if rank.poll() is None else start() for rank in running]
    ends += [rank.wait() for rank in running]
    assert set(ends) == {0}


@pytest.mark.parametrize("disk", ["", "full"])
def test_stacks_and_a_frozen_rank(node: Marked, disk: str) -> None:
    started = launch(node, SLEEPS, ranks=3)
    assert wait_for(lambda: len(node.named("rank.py")) >= 3 and len(ready_ranks(node)) == 3)
    frozen = ready_ranks(node)[1]
    number = environment(frozen)["RANK"]
    (node.folder / "h1").mkdir()
    if disk:  # then the note of it is lost, and the rank is still ended
        (node.folder / "h1" / "keeper").symlink_to("/dev/full")
    os.kill(frozen, signal.SIGSTOP)
    order(node, "stacks-1")
    errors = started.communicate(timeout=SOON)[1]
    line = f"jobgen: h1: rank {number} wrote no stack: it is frozen\n"
    assert line in errors.splitlines(True)
    stacks = [path.read_text() for path in sorted(node.folder.glob("err.*"))]
    assert [text.count("in stuck_here") for text in stacks] == [
        number != str(10 + rank) for rank in range(3)
    ]
    assert disk or (node.folder / "h1" / "keeper").read_text() == line


def test_a_new_order_asks_new_ranks(node: Marked) -> None:
    again = f"wait; LOCAL_RANK=0 RANK=0 python3 -X faulthandler {node.folder}/rank.py {node.folder}"
    again += f" 2>> {node.folder}/err.0"
    started = launch(node, SLEEPS, then=again)
    first = wait_for_rank(node)
    order(node, "stacks-1")
    assert wait_for(lambda: first not in node.pids())
    second = wait_for_rank(node)
    time.sleep(2)
    assert second in node.pids(), "an order that has been obeyed is not for later ranks"
    order(node, "stacks-2")
    started.communicate(timeout=SOON)
    assert (node.folder / "err.0").read_text().count("in stuck_here") == 2


def environment(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/environ").read_text().split("\0")
    return dict(line.split("=", 1) for line in lines if line)


def ready_ranks(node: Marked) -> list[int]:
    return [int(path.name.split(".")[1]) for path in sorted(node.folder.glob("ready.*"))]


def wait_for_rank(node: Marked) -> int:
    assert wait_for(lambda: any(pid in node.pids() for pid in ready_ranks(node)))
    return next(pid for pid in ready_ranks(node) if pid in node.pids())


def test_a_healthy_job_costs_nothing(node: Marked) -> None:
    order(node, "other")
    started = node.keep("sleep", 60)
    assert wait_for(lambda: "sleep 60" in node.pids().values())
    time.sleep(0.5)
    pids = node.named("keeper.py")
    before, begin = sum(map(ticks, pids)), time.monotonic()
    time.sleep(4)
    used = (sum(map(ticks, pids)) - before) / 1e9 / (time.monotonic() - begin)
    assert used < 0.003  # 0.0007 where others are busy; ten looks a second would be more
    started.terminate()
    started.communicate(timeout=SOON)


def ticks(pid: int) -> int:
    """Nanoseconds on a CPU."""
    return int(Path(f"/proc/{pid}/schedstat").read_text().split()[0])


def test_other_pythons(node: Marked) -> None:
    order(node, "stacks-1")
    order(node, "warn")
    words = ["keep", 1, node.folder, "h1", "bash", "-c", "sleep 1.2; echo x; exit 7"]
    pythons = filter(None, map(other_python, range(6, 15)))
    for started in [node.start(*words, python=python) for python in pythons]:
        assert started.communicate(timeout=SOON) == ("x\n", "jobgen: h1: ended with status 7\n")
        assert started.returncode == 7


def other_python(minor: int) -> str | None:
    """Python 3.`minor`, if the machine has it."""
    found = sorted(Path("~/.pyenv/versions").expanduser().glob(f"3.{minor}.*/bin/python3"))
    return str(found[0]) if found else shutil.which(f"python3.{minor}")
