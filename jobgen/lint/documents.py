"""The job scripts that a document shows: Markdown, reStructuredText."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_SUFFIXES = frozenset((".md", ".markdown", ".rst"))
# A block with a command before its first directive is a session at a terminal, or only a part of a
# script.
_SCRIPT = re.compile(r"(?:[ \t]*(?:#.*)?\n)*?(#!.*sh\b|#(SBATCH|PBS)[ \t])")


def is_document(path: str) -> bool:
    """Whether a file is a text that shows scripts, by its name."""
    return Path(path).suffix.lower() in _SUFFIXES


def is_whole_script(text: str) -> bool:
    """Whether a text is a whole script, by its beginning."""
    return bool(_SCRIPT.match(text))


def scripts_in(document: str) -> Iterator[tuple[str, int]]:
    """Each script after as many empty lines as it has lines before it, and its indentation."""
    lines = document.split("\n")
    for first, last in _blocks(lines):
        block = lines[first:last]
        indent = min((_indent(line) for line in block if line.strip()), default=0)
        script = "\n".join(line[indent:] for line in block)
        if is_whole_script(script):
            yield "\n" * first + script + "\n", indent


def _blocks(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The lines between fences of Markdown, and those indented below a line that ends with `::`."""
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
            while number < len(lines) and (
                not lines[number].strip() or _indent(lines[number]) > _indent(line)
            ):
                number += 1
            yield first, number


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
