"""Whole processes, in turns, as ratios against a reference measured in the same run.

Prints a table: the median of each command's times, and its ratio to the reference's median.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
RUNS = int(sys.argv[1]) if len(sys.argv) > 1 else 25
PYTHON = [sys.executable]

ASKED = ["_JOBGEN_COMPLETE=zsh_complete", "COMP_CWORD=3"]
ASKED += ["COMP_WORDS=jobgen sbatch --profile mi"]
COMMANDS = {
    "minimal program": [*PYTHON, str(HERE / "minimal.py")],
    "import click": [*PYTHON, "-c", "import click"],
    "jobgen sbatch -N 3": [*PYTHON, "-m", "jobgen", "sbatch", "--profile", "mi210", "-N", "3"],
    "jobgen --version": [*PYTHON, "-m", "jobgen", "--version"],
    "jobgen --help": [*PYTHON, "-m", "jobgen", "--help"],
    # What a shell runs for `jobgen sbatch --profile mi<TAB>`.
    "a completion": ["env", *ASKED, *PYTHON, "-m", "jobgen"],
}
PAIRS = [
    ("jobgen sbatch -N 3", "minimal program"),
    ("jobgen --version", "import click"),
    ("jobgen --help", "import click"),
    ("a completion", "import click"),
]


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=HERE.parent)
    return time.perf_counter() - start


def main() -> None:
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for command in COMMANDS.values():
        seconds(command)  # fills the caches
    for _ in range(RUNS):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    median = {name: statistics.median(found) for name, found in times.items()}
    print(f"{'command':<22}{'median':>9}   ratio to")
    for name, reference in PAIRS:
        ratio = median[name] / median[reference]
        print(f"{name:<22}{median[name] * 1000:>6.0f} ms   {ratio:.2f} {reference}")


main()
