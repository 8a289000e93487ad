"""The CPU time of `jobgen lint` for 1,000 different scripts in one process.

The scripts are those of tests/golden and the examples of the rules, repeated; a comment makes each
of them different.

    python bench/lint.py
"""

from __future__ import annotations

import time
from pathlib import Path

from jobgen.lint.rules import rules
from jobgen.lint.run import problems_in
from jobgen.lint.settings import Settings

COUNT = 1000
GOLDEN = Path(__file__).parent.parent / "tests/golden"


def example_scripts() -> list[str]:
    """The generated scripts of the tests, and a good and a bad script for each rule."""
    scripts = [file.read_text(encoding="utf-8") for file in sorted(GOLDEN.glob("*.sh"))]
    examples = [(rule.module.BAD, rule.module.GOOD) for rule in rules().values()]
    return scripts + [script for pair in examples for script in pair]


def main() -> None:
    examples = example_scripts()
    scripts = [f"{examples[number % len(examples)]}\n# {number}\n" for number in range(COUNT)]
    lines = sum(script.count("\n") for script in scripts)
    problems_in(scripts[0], "first.sh", Settings())  # the first call imports modules
    start = time.process_time()
    for number, script in enumerate(scripts):
        problems_in(script, f"{number}.sh", Settings())
    seconds = time.process_time() - start
    print(
        f"lint: {seconds:.2f} s of CPU for {COUNT} scripts of {lines / COUNT:.0f} lines on average"
    )


if __name__ == "__main__":
    main()
