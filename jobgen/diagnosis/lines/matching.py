"""Finds the signs that a line matches: a fixed part of each pattern is searched for first."""

import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from jobgen.diagnosis.classes import classes
from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.lines.translated import is_foreign
from jobgen.diagnosis.reader import GRAM, grams, shape_of
from jobgen.diagnosis.signs import Sign

LONGEST_TEXT = 4000  # characters of a line in which patterns are searched for
SHAPES = 20_000  # how many shapes of lines are remembered, with the signs to search for
# Texts that the engine itself searches for in the shapes of lines, besides the signs.
_OWN = (
    *("traceback (most recent", "exception ignored in", "logging error", "exception in thread"),
    *("(first observed", "failures:", "worker group", "restart_count", "fatal python error"),
    *("timeout (", "prints its stack", "exit", "return code", "srun: error", "slurmstepd: error"),
    *(
        "error: ",
        "exception: ",
        "ended with status",
        "failed first",
        "childfailed",
        "process name",
        "primary job",
        "mpirun",
    ),
)
_COMMENT = re.compile(r"\s*(?:#|//) ")  # of a program or a script that quotes a tool
_QUOTED_VALUE = re.compile(r"\s+(?:- )?[a-z_]+: ([\"']).*\1$")  # of YAML: a text about a failure
_GAP, _OR = "\0", "\1"  # stands for any text; separates texts of which a match has one
_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")  # an escape, a class in brackets
_OPTIONAL = re.compile(r"[^()|](?:[?*]|\{[\d,]*\})")
_GROUP = re.compile(
    r"\((?P<look>\?<?[!=])?(?:\?(?:P<\w+>|\w*:?))?(?P<body>[^()]*)\)(?P<optional>[?*]|\{[\d,]*\})?"
)


def matches(text: str, source: str = "") -> list[Event]:
    """The events of the first sign of each class that a line matches; none if it is harmless.

    A pattern may go on behind the line's end in the innermost `source` of the traceback above it.
    """
    text = text[:LONGEST_TEXT]
    if _QUOTED_VALUE.match(text) or _COMMENT.match(text):
        return []
    found = list(_matching(text))
    if text[:1] == " ":  # an indented line may match as it is, or without its indent
        found += _matching(text.lstrip())
    if source:
        found += _matching(f"{text}\n{source[:LONGEST_TEXT]}", with_source=True)
    if any(each.role is Role.NOISE for each in found):
        return []
    return list({each.code: each for each in reversed(found)}.values())[::-1]


def filled(text: str, groups: Mapping[str, str]) -> str:
    """A text with the values of groups; an unknown name in braces stays as it is."""
    for name, value in groups.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def _matching(text: str, *, with_source: bool = False) -> Iterator[Event]:
    for code, sign in _candidates(_shape(text)):
        if with_source and r"\n" not in sign.pattern:
            continue
        if found := compiled(sign.pattern).search(text):
            groups = found.groupdict("")
            says = filled(sign.event.says, groups).replace(" ()", "").rstrip(": ")
            yield sign.event._replace(code=code, says=says, groups=groups)


def may_matter(shape: bytes) -> bool:
    """Whether a line of this shape may match a sign, or has a text that the engine looks for."""
    text = shape[:LONGEST_TEXT].decode("latin-1")
    return (
        any(own in text for own in _OWN) or bool(_candidates(text)) or is_foreign(text, grams(text))
    )


@lru_cache(SHAPES)
def _candidates(shape: str) -> list[tuple[str, Sign]]:
    """The signs that a line of this shape can match, in the order of the classes."""
    signs, texts = _index()
    ends = texts.keys() & grams(shape)
    numbers = {number for end in ends for text, number in texts[end] if text in shape}
    return [signs[number] for number in sorted(numbers)]


@cache
def _index() -> tuple[list[tuple[str, Sign]], dict[str, list[tuple[str, int]]]]:
    """All signs with their classes' codes, and the signs' fixed texts by their last letters."""
    signs = [(code, sign) for code, each in classes().items() for sign in each.signs]
    texts: dict[str, list[tuple[str, int]]] = {}
    for number, (_, sign) in enumerate(signs):
        for text in map(_shape, literals(sign.pattern)):
            texts.setdefault(text[-GRAM:], []).append((text, number))
    return signs, texts


def _shape(text: str) -> str:
    return shape_of(text.encode("ascii", "ignore")).decode("ascii")


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when it is first used."""
    return re.compile(pattern)


def literals(pattern: str) -> list[str]:
    """Lower-case texts, one of which is in each match of a pattern; "" is in any text."""
    rest = _OPTIONAL.sub(_GAP, _ATOM.sub(_GAP, pattern))
    for sign in ".+^$":
        rest = rest.replace(sign, _GAP)
    while "(" in rest:  # the innermost groups first
        rest = _GROUP.sub(_without_parentheses, rest)
    return list(dict.fromkeys(_best(rest).lower().split(_OR)))


def _without_parentheses(group: re.Match[str]) -> str:
    look, body, optional = group.groups()
    if look or optional:
        return _GAP
    return f"{_GAP}{_best(body)}{_GAP}" if "|" in body else body


def _best(alternatives: str) -> str:
    """The longest fixed text of each alternative; for a group, the shortest of its texts counts."""
    if "|" not in alternatives and _OR not in alternatives:
        return max(alternatives.split(_GAP), key=len)
    return _OR.join([max(one.split(_GAP), key=_size) for one in alternatives.split("|")])


def _size(texts: str) -> int:
    return min(map(len, texts.split(_OR)))
