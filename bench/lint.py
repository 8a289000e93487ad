"""CPU seconds of `jobgen lint` for 1,000 scripts, each another text, in one process.

The scripts are the generated ones of tests/golden and the rules' own examples, in turns.
"""

from __future__ import annotations

import time
from pathlib import Path

from jobgen.lint.rules import rules
from jobgen.lint.run import Settings, script

COUNT = 1000
GOLDEN = sorted((Path(__file__).parent.parent / "tests/golden").glob("*.sh"))


def main() -> None:
    texts = [file.read_text(encoding="utf-8") for file in GOLDEN]
    texts += [text for rule in rules().values() for text in (rule.module.BAD, rule.module.GOOD)]
    script(texts[0], "first.sh", Settings())  # imports what there is to import
    start, lines = time.process_time(), 0
    for number in range(COUNT):
        text = f"{texts[number % len(texts)]}\n# {number}\n"
        lines += text.count("\n")
        script(text, f"{number}.sh", Settings())
    spent = time.process_time() - start
    print(f"lint: {COUNT} scripts of {lines // COUNT} lines on average: {spent:.2f} s of CPU")


main()
