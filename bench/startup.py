"""Whole processes, in turns, as ratios against references measured in the same run.

The table has the medians of each command's time by the clock, of its CPU time (user and system:
steadier if others use the machine), and of the peak of its memory (RSS); ratios to the bare
interpreter; and ratios to a reference, with the most that jobgen may take.

All run in a virtual environment of their own, with jobgen's wheel: see installed.py.

    python bench/startup.py [RUNS]
"""

from __future__ import annotations

import os
import sys
import tempfile

import installed
from turns import ROOT, Command, medians

RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 25
BIN = installed.jobgen()
PYTHON, JOBGEN = str(BIN / "python"), str(BIN / "jobgen")
BARE, CLICK, MINIMAL = "bare interpreter", "import click", "minimal program"
SBATCH = "jobgen sbatch -N 3"
FIVE_LINES = str(ROOT / "tests/diagnosis/logs/gpu-memory/torch.log")
# What bash's completion sets for `jobgen sbatch --profile mi<TAB>`.
COMPLETION = {"_JOBGEN_COMPLETE": "bash_complete", "COMP_WORDS": "jobgen sbatch --profile mi"}
COMMANDS: dict[str, list[str]] = {
    BARE: [PYTHON, "-c", ""],
    CLICK: [PYTHON, "-c", "import click"],
    MINIMAL: [PYTHON, str(ROOT / "bench/minimal.py")],
    "jobgen --version": [JOBGEN, "--version"],
    "jobgen --help": [JOBGEN, "--help"],
    "a completion (bash)": [JOBGEN],
    "jobgen why, 5 lines": [JOBGEN, "why", FIVE_LINES],
    SBATCH: [JOBGEN, "sbatch", "--profile", "mi210", "-N", "3"],
}
WITH_CODE = "the same with --code"  # of this repository, of which the store has the copy
# The reference of each command, and the most that it may take of time and of memory.
TARGETS = {
    "jobgen --version": (CLICK, 1.1, None),
    "jobgen --help": (CLICK, 1.1, None),
    "a completion (bash)": (CLICK, 1.3, None),
    "jobgen why, 5 lines": ("jobgen --version", 1.45, None),
    SBATCH: (MINIMAL, 1.0, 1.3),
}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:  # the checkout has templates/ of its own
        code = ["--code", str(ROOT), "--set", f"software.store={folder}/store"]
        COMMANDS[WITH_CODE] = [*COMMANDS[SBATCH], *code, "--", "bench/minimal.py"]
        commands = {
            name: Command(
                words, {**os.environ, **COMPLETION} if words == [JOBGEN] else None, lambda: folder
            )
            for name, words in COMMANDS.items()
        }
        spent = medians(commands, RUNS)
    bare = spent[BARE]
    print(f"{RUNS} runs of each, in turns, after one to fill the caches; medians")
    print(f"{'':<21}{'wall':>8}{'CPU':>8}{'MiB':>6}{'to bare':>9}   wall, CPU against (at most)")
    for name, own in spent.items():
        line = f"{name:<21}{own.wall * 1000:>5.0f} ms{own.cpu * 1000:>5.0f} ms{own.peak:>6.1f}"
        line += f"{own.wall / bare.wall:>9.2f}"
        if name in TARGETS:
            reference, most, memory = TARGETS[name]
            base = spent[reference]
            line += f"   {own.wall / base.wall:.2f}, {own.cpu / base.cpu:.2f} {reference} ({most})"
            if memory:
                line += f"; memory {own.peak / base.peak:.2f} ({memory})"
        print(line)
    plain, with_code = spent[SBATCH], spent[WITH_CODE]
    wall, cpu = with_code.wall - plain.wall, with_code.cpu - plain.cpu
    print(f"--code adds {wall:.2f} s, {cpu:.2f} s of CPU (at most 0.15 s)")


main()
