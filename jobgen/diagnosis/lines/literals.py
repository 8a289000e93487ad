"""The fixed texts of a pattern: a line that has none of them needs no search."""

from __future__ import annotations

import re
import string

_MAKES_OPTIONAL = "?*{"
_CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]")
_COUNT = re.compile(r"\{\d*,?\d*\}")
_GROUP = re.compile(r"\((?:\?(?:P<\w+>|:))?(?!\?)")

Texts = tuple[str, ...]


def literals(pattern: str) -> Texts:
    """Lower-case texts, of which each match of a pattern has one; an empty one says nothing."""
    return tuple(dict.fromkeys(text for one in alternatives(pattern) for text in _needed(one)))


def alternatives(pattern: str) -> list[str]:
    """The alternatives of a pattern: `a|b`, not `(a|b)`."""
    found, depth, position = [""], 0, 0
    while position < len(pattern):
        token = token_at(pattern, position)
        position += len(token)
        depth += (token == "(") - (token == ")")
        if token == "|" and depth == 0:
            found.append("")
        else:
            found[-1] += token
    return found


def _needed(sequence: str) -> Texts:
    """The best texts of a pattern without alternatives: of its longest run, or of a group's."""
    candidates: list[Texts] = [("",)]
    run, position = "", 0
    while position < len(sequence):
        token = token_at(sequence, position)
        if token == "(":
            token = _group_at(sequence, position)
        position += len(token)
        is_optional = sequence[position : position + 1] in tuple(_MAKES_OPTIONAL)
        plain = "" if is_optional else _plain(token)
        if plain:
            run += plain
            continue
        candidates.append((run,))
        run = ""
        if len(token) > 2 and not is_optional and (start := _GROUP.match(token)):
            candidates.append(literals(token[start.end() : -1]))
    return max([*candidates, (run,)], key=lambda texts: min(map(len, texts), default=0))


def _group_at(pattern: str, begin: int) -> str:
    """The group that begins there, with all that is in it."""
    depth, position = 0, begin
    while position < len(pattern):
        token = token_at(pattern, position)
        position += len(token)
        depth += (token == "(") - (token == ")")
        if depth == 0:
            break
    return pattern[begin:position]


def token_at(pattern: str, position: int) -> str:
    """A character, an escape, a class in brackets, or a count in braces."""
    char = pattern[position]
    if char == "\\":
        return pattern[position : position + 2]
    if char == "[":
        end = _CLASS.match(pattern, position)
        return end[0] if end else char
    if char == "{" and (count := _COUNT.match(pattern, position)):
        return count[0]
    return char


def _plain(token: str) -> str:
    """The character that a token stands for, or "" if it is none alone."""
    if len(token) == 2 and token[0] == "\\":
        return "" if token[1] in string.ascii_letters + string.digits else token[1]
    if token in string.ascii_letters:
        return token.lower()
    return "" if len(token) > 1 or token in "()[]{}|?*+.^$" else token
