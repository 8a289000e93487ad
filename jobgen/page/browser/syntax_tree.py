"""Stands in for the package `tree_sitter`: builds its syntax tree from web-tree-sitter's nodes."""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from types import ModuleType, SimpleNamespace

# A function that parses a text. It returns six numbers for each node, parents first: kind, flags (1
# named, 2 missing), start and end in UTF-16 units, index of the parent, field. The other two lists
# have the names of the kinds and of the fields.
Parse = Callable[[str], tuple[Sequence[int], Sequence[str], Sequence[str]]]
_NUMBERS = 6
_NAMED, _MISSING = 1, 2


class Node:
    """A node with the attributes that lint reads; start and end are in bytes; rows start at 0."""

    def __init__(self, kind: str, flags: int, start: int, end: int, lines: list[int]) -> None:
        self.type = kind
        self.is_named = bool(flags & _NAMED)
        self.is_missing = bool(flags & _MISSING)
        self.has_error = self.is_missing or kind == "ERROR"  # `parse` adds errors of descendants
        self.start_byte = start
        self.end_byte = end
        self.children: list[Node] = []
        self.fields: dict[str, Node] = {}  # the first child of each field; "" means no field
        self._lines = lines  # the byte offset at which each line begins

    @property
    def named_children(self) -> list[Node]:
        """The children that have a rule in the grammar, unlike punctuation and keywords."""
        return [child for child in self.children if child.is_named]

    @property
    def start_point(self) -> SimpleNamespace:
        """The position of the node's first byte; only `row` is set."""
        return SimpleNamespace(row=bisect_right(self._lines, self.start_byte) - 1)

    @property
    def end_point(self) -> SimpleNamespace:
        """The position after the node's last byte; only `row` is set."""
        return SimpleNamespace(row=bisect_right(self._lines, self.end_byte) - 1)

    def child_by_field_name(self, name: str) -> Node | None:
        """The first child in a field of the grammar, such as `body`; None if no child is there."""
        return self.fields.get(name)


class Parser:
    """A parser with the interface of tree_sitter.Parser, which calls a function of the browser."""

    def __init__(self, parse: Parse) -> None:
        self._parse = parse

    def parse(self, data: bytes) -> SimpleNamespace:
        """The syntax tree of a script in UTF-8."""
        text = data.decode("utf-8", "replace")
        numbers, kinds, fields = self._parse(text)
        offsets = _byte_offsets(text)
        lines = [0, *(at + 1 for at, byte in enumerate(data) if byte == 10)]
        nodes: list[Node] = []
        parents: list[int] = []
        for at in range(0, len(numbers), _NUMBERS):
            kind, flags, start, end, parent, field = numbers[at : at + _NUMBERS]
            node = Node(kinds[kind], flags, offsets[start], offsets[end], lines)
            if nodes:
                nodes[parent].children.append(node)
                nodes[parent].fields.setdefault(fields[field], node)
            nodes.append(node)
            parents.append(parent)
        for number in range(len(nodes) - 1, 0, -1):
            nodes[parents[number]].has_error |= nodes[number].has_error
        return SimpleNamespace(root_node=nodes[0])


def _byte_offsets(text: str) -> Sequence[int]:
    """The byte offset in UTF-8 of each UTF-16 unit of a text, and of the text's end."""
    if text.isascii():
        return range(len(text) + 1)
    offsets, at = [], 0
    for character in text:
        size = len(character.encode("utf-8"))
        offsets += [at] * (1 + (ord(character) > 0xFFFF))
        at += size
    return [*offsets, at]


def install(parse: Parse) -> None:
    """Make `import tree_sitter` and `import tree_sitter_bash` find this parser."""
    grammar, library = ModuleType("tree_sitter_bash"), ModuleType("tree_sitter")
    vars(grammar)["language"] = lambda: parse
    vars(library).update(Language=lambda function: function, Parser=Parser)
    sys.modules.update(tree_sitter=library, tree_sitter_bash=grammar)
