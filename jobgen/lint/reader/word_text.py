"""The text of a word without its quotes, with its expansions as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from jobgen.lint.reader.commands import Word
from jobgen.lint.reader.source import EXPANSIONS, REPLACED, Source

if TYPE_CHECKING:
    from tree_sitter import Node

_REPLACED = REPLACED | {"process_substitution"}
_VALUES = EXPANSIONS | {"arithmetic_expansion"}


def read_word(node: Node, source: Source) -> Word:
    """The word that a node is."""
    replaced = list(_replaced(node))
    return Word(
        _text(node, source),
        *source.place(node),
        tuple(name for each in replaced for name in _variables(each, source)),
        any(each.type not in _VALUES or "$(" in source.raw(each) for each in replaced),
        source.raw(node),
    )


def _text(node: Node, source: Source) -> str:
    kind, raw = node.type, source.raw(node)
    if kind == "raw_string":
        return raw[1:-1]
    if kind == "ansi_c_string":
        return raw[2:-1]
    if kind == "array":
        return raw
    if kind == "string":
        return _string_text(node, source)
    if kind == "concatenation":
        return "".join(_text(child, source) for child in node.children)
    # The grammar takes blanks before a word for a part of it.
    raw = raw.lstrip()
    is_plain = kind in _REPLACED or "\\" not in raw
    return raw if is_plain else re.sub(r"\\(\n|.)", _unquoted, raw)


def _string_text(node: Node, source: Source) -> str:
    """What is between double quotes."""
    pieces, position = [], node.start_byte + 1
    for child in node.children:
        if child.type in REPLACED:
            pieces += [_unescaped(source.between(position, child.start_byte)), source.raw(child)]
            position = child.end_byte
    pieces.append(_unescaped(source.between(position, max(position, node.end_byte - 1))))
    return "".join(pieces)


def _replaced(node: Node) -> Iterator[Node]:
    """The parts of a word that the shell replaces."""
    if node.type in _REPLACED or node.type == "array":
        yield node
    elif node.type in ("string", "concatenation"):
        for child in node.children:
            yield from _replaced(child)


def _variables(node: Node, source: Source) -> tuple[str, ...]:
    """The variables of an expansion, and of nothing else."""
    if node.type not in EXPANSIONS:
        return ()
    names = (child.children[0] if child.type == "subscript" else child for child in node.children)
    return tuple(source.raw(name) for name in names if name.type == "variable_name")


def _unescaped(text: str) -> str:
    return re.sub(r'\\([$`"\\\n])', _unquoted, text) if "\\" in text else text


def _unquoted(found: re.Match[str]) -> str:
    """What a backslash stands for, with the character after it."""
    return found[1].strip("\n")
