"""The text of a word without its quotes, with its expansions as they are written."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from jobgen.lint.reader.commands import Word
from jobgen.lint.reader.source import EXPANSIONS, REPLACED, Source

if TYPE_CHECKING:
    from tree_sitter import Node


class _Piece(NamedTuple):
    text: str
    variables: tuple[str, ...] = ()
    has_substitution: bool = False


def read_word(node: Node, source: Source) -> Word:
    """The word that a node is."""
    line, column = source.place(node)
    if node.type == "word":  # most words are
        raw = source.raw(node)
        return Word(_unescaped_word(raw.lstrip()), line, column, raw=raw)
    pieces = list(_pieces(node, source))
    return Word(
        "".join(piece.text for piece in pieces),
        line,
        column,
        tuple(name for piece in pieces for name in piece.variables),
        any(piece.has_substitution for piece in pieces),
        source.raw(node),
    )


def _pieces(node: Node, source: Source) -> Iterator[_Piece]:
    kind, raw = node.type, source.raw(node)
    if kind == "raw_string":
        yield _Piece(raw[1:-1])
    elif kind == "ansi_c_string":
        yield _Piece(raw[2:-1])
    elif kind in REPLACED or kind == "process_substitution":
        yield _replaced(node, source)
    elif kind == "array":
        yield _Piece(raw, has_substitution=True)
    elif kind == "string":
        yield from _string_pieces(node, source)
    elif kind == "concatenation":
        for child in node.children:
            yield from _pieces(child, source)
    else:
        yield _Piece(_unescaped_word(raw.lstrip()))


def _replaced(node: Node, source: Source) -> _Piece:
    kind, text = node.type, source.raw(node).lstrip()
    if kind in EXPANSIONS:
        return _Piece(text, _variables(node, source), kind == "expansion" and "$(" in text)
    return _Piece(text, (), kind != "arithmetic_expansion" or "$(" in text)


def _variables(node: Node, source: Source) -> tuple[str, ...]:
    """The variables of an expansion."""
    names = (child.children[0] if child.type == "subscript" else child for child in node.children)
    return tuple(source.raw(name) for name in names if name.type == "variable_name")


def _string_pieces(node: Node, source: Source) -> Iterator[_Piece]:
    """What is between double quotes."""
    position = node.start_byte + 1
    for child in node.children:
        if child.type in REPLACED:
            yield _Piece(_unescaped(source.between(position, child.start_byte)))
            # The grammar takes blanks before an expansion for a part of it.
            yield _replaced(child, source)._replace(text=source.raw(child))
            position = child.end_byte
    yield _Piece(_unescaped(source.between(position, max(position, node.end_byte - 1))))


def _unescaped(text: str) -> str:
    return re.sub(r'\\([$`"\\\n])', _unquoted, text) if "\\" in text else text


def _unescaped_word(raw: str) -> str:
    return re.sub(r"\\(\n|.)", _unquoted, raw) if "\\" in raw else raw


def _unquoted(found: re.Match[str]) -> str:
    """What a backslash stands for, with the character after it."""
    return found[1].strip("\n")
