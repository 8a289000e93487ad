"""The parser of bash (tree-sitter, of the extra `lint`), the bytes it gets, and their places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from jobgen.errors import problem

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

EXPANSIONS = frozenset(("simple_expansion", "expansion"))
# The kinds of syntax that the shell replaces in a string.
REPLACED = EXPANSIONS | {"command_substitution", "arithmetic_expansion"}


class Source:
    """A script, or a string in it that is a script itself.

    `offsets` has the offset in the file of each byte of such a string, and of its end.
    """

    def __init__(self, file: bytes, text: str, offsets: Sequence[int] | None = None) -> None:
        self.file = file
        self.data = to_bytes(text)
        self.offsets = offsets
        self.line_starts = [0, *(found.end() for found in re.finditer(b"\n", file))]

    def offset(self, position: int) -> int:
        """The offset in the file of a byte."""
        if self.offsets is None:
            return position
        return self.offsets[min(position, len(self.offsets) - 1)]

    def place(self, node: Node) -> tuple[int, int]:
        """The line and column in the file at which a node begins."""
        offset = self.offset(node.start_byte)
        line = bisect_right(self.line_starts, offset)
        return line, self.column(line, offset)

    def column(self, line: int, offset: int) -> int:
        """The column of an offset in the file that is on a line."""
        before = self.file[self.line_starts[line - 1] : offset]
        return len(before.decode("utf-8", "replace")) + 1

    def raw(self, node: Node) -> str:
        """The text of a node, as it is written."""
        return self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        """The text between two bytes."""
        return self.data[start:end].decode("utf-8", "replace")


def to_bytes(text: str) -> bytes:
    """A text as the parser gets it; a byte that is not UTF-8 becomes three bytes."""
    return text.encode("utf-8", "surrogatepass")


def parse_tree(data: bytes) -> Node:
    """The root of the syntax tree. Raises JobgenError if there is no parser."""
    return _parser().parse(_parsable(data)).root_node


@cache
def _parser() -> Parser:
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:
        text = "tree-sitter and tree-sitter-bash are not installed"
        raise problem("lint", text, "missing", "pip install 'jobgen[lint]'") from None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


def _parsable(data: bytes) -> bytes:
    """`data` with `$(: A   && B)` for `$(((A)) && B)`, which the grammar takes for arithmetic.

    Its length is the same, so that every place stays.
    """
    if b"$(((" not in data:
        return data
    return re.sub(rb"\$\(\(\(([^()]*)\)\)(?=\s*(?:&&|\|\|))", rb"$(: \1  ", data)
