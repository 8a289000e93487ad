"""Whole processes, in turns, as ratios against references measured in the same run.

Prints a table: the medians of each command's time by the clock and of its CPU (user and system,
steadier where others use the machine), both as ratios to the reference that the issue of its speed
names and to the bare interpreter, and the peak of its memory (RSS).

All run in an environment of their own, with jobgen's wheel: see installed.py.

    python bench/startup.py [RUNS]
"""

from __future__ import annotations

import os
import sys

import installed
from turns import ROOT, Command, medians

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 25
BIN = installed.jobgen()
PYTHON, JOBGEN = str(BIN / "python"), str(BIN / "jobgen")
BARE, CLICK, MINIMAL = "bare interpreter", "import click", "minimal program"
# What bash's function asks at `jobgen sbatch --profile mi<TAB>`: see `jobgen completion bash`.
ASKED = {"_JOBGEN_COMPLETE": "bash_complete", "COMP_WORDS": "jobgen sbatch --profile mi"}
COMMANDS = {
    BARE: Command([PYTHON, "-c", ""]),
    CLICK: Command([PYTHON, "-c", "import click"]),
    MINIMAL: Command([PYTHON, str(ROOT / "bench/minimal.py")]),
    "jobgen --version": Command([JOBGEN, "--version"]),
    "jobgen --help": Command([JOBGEN, "--help"]),
    "a completion (bash)": Command([JOBGEN], {**os.environ, **ASKED}),
    "jobgen sbatch -N 3": Command([JOBGEN, "sbatch", "--profile", "mi210", "-N", "3"]),
}
# What each is held against, and the most that it may take: of time, and of memory.
TARGETS = {
    "jobgen --version": (CLICK, 1.1, None),
    "jobgen --help": (CLICK, 1.1, None),
    "a completion (bash)": (CLICK, 1.1, None),
    "jobgen sbatch -N 3": (MINIMAL, 1.15, 1.3),
}


def main() -> None:
    spent = medians(COMMANDS, RUNS)
    bare = spent[BARE]
    print(f"{RUNS} runs of each, in turns, after one to fill the caches; medians")
    print(f"{'':<21}{'wall':>8}{'CPU':>8}{'MiB':>6}{'to bare':>9}   wall, CPU against (at most)")
    for name, mine in spent.items():
        line = f"{name:<21}{mine.wall * 1000:>5.0f} ms{mine.cpu * 1000:>5.0f} ms{mine.peak:>6.1f}"
        line += f"{mine.wall / bare.wall:>9.2f}"
        if name in TARGETS:
            against, most, memory = TARGETS[name]
            other = spent[against]
            line += (
                f"   {mine.wall / other.wall:.2f}, {mine.cpu / other.cpu:.2f} {against} ({most})"
            )
            if memory:
                line += f"; memory {mine.peak / other.peak:.2f} ({memory})"
        print(line)


main()
