"""A unified diff of two scripts, coloured on a terminal."""

import difflib
import os
import re
import sys
from collections.abc import Iterator, Sequence

from jobgen.bounds import DIFF_LINES
from jobgen.errors import printable

# difflib gets this number of unchanged lines around all changes. A diff shows three of them; the
# others let difflib shift a change among similar lines.
CONTEXT = 16


def diff_lines(name: str, old: bytes, new: bytes, change: str = "generated now") -> Iterator[str]:
    """The lines of a diff, with `change` beside the name of the new file."""
    before, after = (_lines(data.decode("utf-8", "replace")) for data in (old, new))
    for line in _unified((name, f"{name}, {change}"), before, after):
        yield shown_line(line)


def shown_line(line: str) -> str:
    """A line of a diff, coloured on a terminal, which no character in it controls."""
    from click import style

    shown = line[:1] + "\t".join(map(printable, line[1:].split("\t")))
    is_coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    colour = {"-": "red", "+": "green", "@": "cyan"}.get(line[:1]) if is_coloured else None
    return (style(shown, fg=colour) if colour else shown) + "\n"


def _unified(names: tuple[str, str], before: Sequence[str], after: Sequence[str]) -> Iterator[str]:
    """The lines of a unified diff. Equal ends are cut off first: difflib takes quadratic time."""
    shorter = min(len(before), len(after))
    first = next((n for n in range(shorter) if before[n] != after[n]), shorter)
    rest = range(shorter - first)
    same_at_end = next((n for n in rest if before[~n] != after[~n]), shorter - first)
    if max(len(before), len(after)) - first - same_at_end > DIFF_LINES:
        yield f"  it differs from line {first + 1} on, in more than {DIFF_LINES} lines"
        return
    start, end = max(first - CONTEXT, 0), max(same_at_end - CONTEXT, 0)
    old, new = (lines[start : len(lines) - end] for lines in (before, after))
    for line in difflib.unified_diff(old, new, *names, lineterm=""):
        if line.startswith("@"):  # line numbers; lines of a script begin with a blank, + or -
            line = re.sub(r"(?<=[-+])\d+", lambda found: str(int(found[0]) + start), line)
        yield line


def _lines(text: str) -> list[str]:
    *lines, last = text.split("\n")
    return [*lines, f"{last}  (no newline at the end)"] if last else lines
