"""Measures commands as whole processes, in turns, so that other work slows all of them alike."""

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
    """A command, with its environment and the folder that it runs in."""

    words: Sequence[str]
    env: Mapping[str, str] | None = None  # None: that of this process
    folder: Callable[[], str] | None = None  # makes a folder for each run; None: ROOT


@dataclass(frozen=True)
class Usage:
    """Elapsed seconds, CPU seconds (user and system) and peak memory (RSS, in MiB)."""

    wall: float
    cpu: float
    peak: float


def usage_of(command: Command) -> Usage:
    """What one run uses; its output is discarded. Exits if the command fails."""
    folder = command.folder() if command.folder else ROOT
    env = os.environ if command.env is None else command.env
    # The shell only changes the folder, and the command takes its place.
    words = ["/bin/sh", "-c", 'cd "$1" && shift && exec "$@"', "sh", str(folder), *command.words]
    no_files = [(os.POSIX_SPAWN_OPEN, n, os.devnull, os.O_RDWR, 0) for n in (0, 1, 2)]
    start = time.perf_counter()
    process = os.posix_spawn(words[0], words, env, file_actions=no_files)
    _, status, usage = os.wait4(process, 0)
    wall = time.perf_counter() - start
    if status:
        exit_status = os.waitstatus_to_exitcode(status)
        sys.exit(f"{' '.join(command.words)}: exit status {exit_status}")
    return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024)


def medians(commands: Mapping[str, Command], runs: int) -> dict[str, Usage]:
    """The median usage of each command over `runs` runs, after one that fills the caches."""
    for command in commands.values():
        usage_of(command)
    usages: dict[str, list[Usage]] = {name: [] for name in commands}
    for _ in range(runs):
        for name, command in commands.items():
            usages[name].append(usage_of(command))
    return {name: _median(each) for name, each in usages.items()}


def _median(usages: Sequence[Usage]) -> Usage:
    return Usage(
        statistics.median(usage.wall for usage in usages),
        statistics.median(usage.cpu for usage in usages),
        statistics.median(usage.peak for usage in usages),
    )
