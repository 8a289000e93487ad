"""Whole processes measured in turns, so that what else the machine does falls on all alike."""

from __future__ import annotations

import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Command:
    words: Sequence[str]
    env: Mapping[str, str] | None = None  # all of it; None: this process's
    folder: Callable[[], str] | None = None  # makes the folder of one run; None: the checkout


@dataclass(frozen=True)
class Spent:
    """Medians over the runs: seconds by the clock, CPU seconds (user and system), peak MiB."""

    wall: float
    cpu: float
    peak: float


def once(command: Command) -> Spent:
    """One run, its output thrown away. Exits with its stderr's name if it fails."""
    folder = command.folder() if command.folder else ROOT
    env = os.environ if command.env is None else command.env
    # The shell gives way to the command: it is there for the folder alone.
    words = ["/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(folder), *command.words]
    null = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in (0, 1, 2)]
    start = time.perf_counter()
    process = os.posix_spawn(words[0], words, env, file_actions=null)
    _, status, usage = os.wait4(process, 0)
    wall = time.perf_counter() - start
    if status:
        code = os.waitstatus_to_exitcode(status)
        sys.exit(f"{' '.join(command.words)}: exit status {code}")
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def medians(commands: Mapping[str, Command], runs: int) -> dict[str, Spent]:
    """Each command once to fill the caches, then all of them in turn, `runs` times."""
    found: dict[str, list[Spent]] = {name: [] for name in commands}
    for turn in range(runs + 1):
        for name, command in commands.items():
            spent = once(command)
            if turn:
                found[name].append(spent)
    return {
        name: Spent(*(statistics.median(column) for column in zip(*map(_row, rows), strict=True)))
        for name, rows in found.items()
    }


def _row(spent: Spent) -> tuple[float, float, float]:
    return spent.wall, spent.cpu, spent.peak
