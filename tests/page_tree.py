"""What the browser's parser gives for a script, and what lint reads of a syntax tree."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def numbers_of(parser: Any, text: str) -> tuple[list[int], list[str], list[str]]:
    """What parse.js gives for a text."""
    data = text.encode()
    kinds: list[str] = []
    fields: list[str] = []
    numbers: list[int] = []

    def number(name: str, names: list[str]) -> int:
        if name not in names:
            names.append(name)
        return names.index(name)

    def units(offset: int) -> int:
        return len(data[:offset].decode().encode("utf-16-le")) // 2

    def add(node: Any, parent: int, field: str) -> None:
        flags = node.is_named + 2 * node.is_missing
        places = units(node.start_byte), units(node.end_byte)
        own = len(numbers) // 6
        numbers.extend((number(node.type, kinds), flags, *places, parent, number(field, fields)))
        for index, child in enumerate(node.children):
            add(child, own, node.field_name_for_child(index) or "")

    add(parser.parse(data).root_node, 0, "")
    return numbers, kinds, fields


def nodes_of(node: Any) -> Iterator[tuple[Any, ...]]:
    """All that lint reads of a tree."""
    points = node.start_point.row, node.end_point.row
    named = [child.type for child in node.named_children]
    yield (
        node.type,
        node.is_named,
        node.is_missing,
        node.has_error,
        node.start_byte,
        node.end_byte,
    )
    yield (*points, named)
    for field in ("name", "value", "variable", "body", "condition"):
        child = node.child_by_field_name(field)
        yield field, child and (child.type, child.start_byte)
    for child in node.children:
        yield from nodes_of(child)
