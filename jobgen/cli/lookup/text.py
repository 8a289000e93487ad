"""Tables of text."""

from collections.abc import Sequence

from jobgen.errors import printable


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows as lines, their texts in columns."""
    rows = [[printable(text) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{text:<{w}}" for text, w in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)
