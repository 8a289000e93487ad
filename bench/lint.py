"""The CPU time of `jobgen lint` for 1,000 different scripts in one process.

The scripts are those of the tests' cases and the examples of the rules, repeated; a comment makes
each of them different.

    python bench/lint.py
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from jobgen.lint.rules import rules
from jobgen.lint.run import problems_in
from jobgen.lint.settings import Settings
from tests.golden_cases import CASES
from tests.helpers import script

COUNT = 1000


def example_scripts() -> list[str]:
    """The generated scripts of the tests, and a good and a bad script for each rule."""
    scripts = [script(job) for job in CASES.values()]
    examples = [(rule.bad, rule.good) for rule in rules().values()]
    return scripts + [text for pair in examples for text in pair]


def main() -> None:
    examples = example_scripts()
    scripts = [f"{examples[number % len(examples)]}\n# {number}\n" for number in range(COUNT)]
    lines = sum(text.count("\n") for text in scripts)
    problems_in(scripts[0], "first.sh", Settings())  # the first call imports modules
    start = time.process_time()
    for number, text in enumerate(scripts):
        problems_in(text, f"{number}.sh", Settings())
    seconds = time.process_time() - start
    print(
        f"lint: {seconds:.2f} s of CPU for {COUNT} scripts of {lines / COUNT:.0f} lines on average"
    )


if __name__ == "__main__":
    main()
