"""Finds the signs that a line matches: a fixed part of each pattern is searched for first."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from jobgen.diagnosis.classes import classes
from jobgen.diagnosis.lines.literals import literals
from jobgen.diagnosis.reader import shape_of
from jobgen.diagnosis.signs import Role, Sign

LONGEST_TEXT = 4000  # characters of a line in which patterns are searched for
SHAPES = 20_000  # lines without their numbers, for which the signs that are searched are remembered
GRAM = 4  # letters
# What the engine itself searches for, beside the signs.
OWN_TEXTS = (
    *("traceback (most recent", "exception ignored in", "logging error", "exception in thread"),
    *("(first observed", "failures:", "worker group", "restart_count", "fatal python error"),
    *("timeout (", "prints its stack", "exit", "return code", "srun: error", "slurmstepd: error"),
    *("ended with status", "failed first", "childfailed", "process name", "primary job", "mpirun"),
)
_COMMENT = re.compile(r"\s*(?:#|//) ")  # of a program or a script that quotes a tool
_QUOTED_VALUE = re.compile(r"\s+(?:- )?[a-z_]+: ([\"']).*\1$")  # of YAML: a text about a failure


class Matched(NamedTuple):
    """A sign of a class, and what its pattern found."""

    code: str
    sign: Sign
    found: re.Match[str]

    @property
    def groups(self) -> dict[str, str]:
        """The pattern's named groups; one that took no part is empty."""
        return {name: value or "" for name, value in self.found.groupdict().items()}

    @property
    def says(self) -> str:
        """What the sign says, with the groups filled in."""
        return filled(self.sign.says, self.groups).replace(" ()", "").rstrip(": ")


def matches(text: str) -> list[Matched]:
    """The first sign of each class that a line matches; none if it is harmless."""
    text = text[:LONGEST_TEXT]
    if _QUOTED_VALUE.match(text) or _COMMENT.match(text):
        return []
    found = [Matched(*each) for each in _matching(text)]
    if text[:1] == " ":  # an indented line may match as it is, or without its indent
        found += [Matched(*each) for each in _matching(text.lstrip())]
    if any(each.sign.role is Role.NOISE for each in found):
        return []
    return list({each.code: each for each in reversed(found)}.values())[::-1]


def filled(text: str, groups: dict[str, str]) -> str:
    """A text with its groups; an unknown one in braces stays as it is."""
    for name, value in groups.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _matching(text: str) -> Iterator[tuple[str, Sign, re.Match[str]]]:
    shape = _shape(text)
    candidates = _by_shape.get(shape)
    if candidates is None:
        candidates = _candidates(shape)
        if len(_by_shape) < SHAPES:
            _by_shape[shape] = candidates
    for code, sign in candidates:
        if found := compiled(sign.pattern).search(text):
            yield code, sign, found


_by_shape: dict[str, list[tuple[str, Sign]]] = {}


def may_matter(shape: bytes) -> bool:
    """Whether a line of this shape can match a sign, or is one that the engine follows."""
    text = shape[:LONGEST_TEXT].decode("latin-1")
    return any(own in text for own in _OWN) or bool(_candidates(text))


def _candidates(shape: str) -> list[tuple[str, Sign]]:
    """The signs that a line of this shape can match, in the order of the classes."""
    index, signs = _index()
    grams = {shape[i : i + GRAM] for i in range(len(shape))}
    numbers = {
        number for gram in grams & index.keys() for text, number in index[gram] if text in shape
    }
    return [signs[number] for number in sorted(numbers | set(_without_text()))]


@cache
def _index() -> tuple[dict[str, list[tuple[str, int]]], list[tuple[str, Sign]]]:
    """Each sign's texts by a few letters of each, the rarest ones."""
    signs = [(code, sign) for code, each in classes().items() for sign in each.signs]
    texts = [(text, number) for number, (_, sign) in enumerate(signs) for text in _texts(sign)]
    count = Counter(gram for text, _ in texts for gram in _grams(text))
    index: dict[str, list[tuple[str, int]]] = {}
    for text, number in texts:
        if grams := _grams(text):
            index.setdefault(min(grams, key=lambda gram: count[gram]), []).append((text, number))
    return index, signs


@cache
def _without_text() -> tuple[int, ...]:
    """The signs that have no fixed text: they are searched in each line."""
    _, signs = _index()
    return tuple(n for n, (_, sign) in enumerate(signs) if not all(map(_grams, _texts(sign))))


def _texts(sign: Sign) -> list[str]:
    return [_shape(text) for text in literals(sign.pattern)]


def _shape(text: str) -> str:
    return shape_of(text.encode("ascii", "ignore")).decode("ascii")


_OWN = tuple(map(_shape, OWN_TEXTS))


def _grams(text: str) -> list[str]:
    return [text[i : i + GRAM] for i in range(len(text) - GRAM + 1)]


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when it is needed first."""
    return re.compile(pattern)
