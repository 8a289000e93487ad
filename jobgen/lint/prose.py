"""The job scripts in a text that shows them: Markdown, reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

SUFFIXES = frozenset((".md", ".markdown", ".rst"))
# With a command before its first directive it is a session at a terminal, or a part of a script.
_SCRIPT = re.compile(r"(?:[ \t]*(?:#.*)?\n)*?(#!.*sh\b|#(SBATCH|PBS)[ \t])")


def is_prose(path: str) -> bool:
    """Whether a file is a text with scripts in it, by its name."""
    return Path(path).suffix.lower() in SUFFIXES


def is_job(script: str) -> bool:
    """Whether a text is a whole script, by its beginning."""
    return bool(_SCRIPT.match(script))


def scripts(text: str) -> Iterator[tuple[str, int]]:
    """Each script, on the lines where the text has it, and how far it is indented there."""
    lines = text.split("\n")
    for first, last in _blocks(lines):
        block = lines[first:last]
        indent = min((len(line) - len(line.lstrip()) for line in block if line.strip()), default=0)
        script = "\n".join(line[indent:] for line in block)
        if is_job(script):
            yield "\n" * first + script + "\n", indent


def _blocks(lines: list[str]) -> Iterator[tuple[int, int]]:
    """Between fences of Markdown, and what is indented below a line that ends with `::`."""
    number = 0
    while number < len(lines):
        line = lines[number]
        number += 1
        first = number
        if fence := re.match(r"\s*(`{3,}|~{3,})", line):
            while number < len(lines) and not lines[number].strip().startswith(fence[1]):
                number += 1
            yield first, number
            number += 1
        elif line.rstrip().endswith("::"):
            outer = len(line) - len(line.lstrip())
            while number < len(lines) and (
                not lines[number].strip()
                or len(lines[number]) - len(lines[number].lstrip()) > outer
            ):
                number += 1
            yield first, number
