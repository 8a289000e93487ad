"""Finds the signs that a line matches: a fixed part of each pattern is searched for first."""

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from jobgen.diagnosis.classes import classes, codes_with
from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.lines.translated import shapes_of_translations, short_shapes
from jobgen.diagnosis.reader import GRAM, grams, shape_of
from jobgen.diagnosis.signs import Sign

LONGEST_TEXT = 4000  # characters of a line in which patterns are searched for
SHAPES = 20_000  # how many shapes of lines are remembered, with the signs to search for
# Texts that the engine itself searches for in the shapes of lines, besides the signs.
_OWN = (
    *("traceback (most recent", "exception ignored in", "logging error", "exception in thread"),
    *("(first observed", "failures:", "worker group", "restart_count", "fatal python error"),
    *("timeout (", "prints its stack", "exit", "return code", "srun: error", "slurmstepd: error"),
    "python v (",  # py-spy's
    '", line ',  # of an error in a program's syntax
    *(
        "ended with status",
        "failed first",
        "childfailed",
        "process name",
        "primary job",
        "mpirun",
    ),
)
FIXED_TEXTS = os.path.join(os.path.dirname(__file__), "fixed_texts.txt")  # `make golden` writes it
_ABOVE = re.compile(r"(?<!\\)\\n")  # in a pattern, between a line and the line above it
_COMMENT = re.compile(r"\s*(?:#|//) ")  # of a program or a script that quotes a tool
_QUOTED_VALUE = re.compile(r"\s+(?:- )?[a-z_]+: ([\"']).*\1$")  # of YAML: a text about a failure
# Texts that are in any kind of error, if a pattern has another one.
_COMMON = {
    *("runtimeerror", "valueerror", "oserror", "error", "error ", "error: ", ": error: "),
    *("failed", "failed ", "failed: "),
}
_GAP, _OR = "\0", "\1"  # stands for any text; separates texts of which a match has one
_FOREIGN = -1  # in place of a sign's number
_BRACKETS = {r"\[": "\2", r"\]": "\3", r"\(": "\4", r"\)": "\5", "[ ]": " "}
_BRACKETS_AGAIN = str.maketrans("\2\3\4\5*", "[]()" + _GAP)
_ANYTHING = str.maketrans(dict.fromkeys(".+^$", _GAP))
_LOOK = "\6"  # begins a group that only looks ahead or back
# An escape, a class in brackets, a back reference.
_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P=\w+\)")
_NAME = re.compile(r"\(\?(?:p<\w+>|\w*:)")
_LOOKS = re.compile(r"\(\?<?[!=]")
_TIMES = re.compile(r"\{[\d,]*\}")
_PLAIN = re.compile(r"\(([^()|\6]*)\)(?!\*)")
_GROUP = re.compile(r"\(([^()]*)\)(\*?)")


def matches(text: str, above: str = "", unread: str = "") -> list[Event]:
    """The events of the first sign of each class that a line matches; none if it is harmless.

    A pattern with a line's end goes on in the line above, which is shown behind the line; after a
    traceback, that is the source of its innermost frame. Events of other patterns have the line
    above as `unread`, if it is that.
    """
    text = text[:LONGEST_TEXT]
    if _QUOTED_VALUE.match(text) or _COMMENT.match(text):
        return []
    signs = _candidates(_shape(text))
    of_two_lines = [(code, sign) for code, sign in signs if above and _ABOVE.search(sign.pattern)]
    found = list(events_of(f"{text}\n{above[:LONGEST_TEXT]}", of_two_lines))
    single = list(events_of(text, signs))
    if text[:1] == " ":  # an indented line may match as it is, or without its indent
        single += events_of(text.lstrip(), signs)
    found += [event._replace(unread=unread) for event in single]
    if any(each.role is Role.NOISE for each in found):
        return []
    return list({each.code: each for each in reversed(found)}.values())[::-1]


def filled(text: str, groups: Mapping[str, str]) -> str:
    """A text with the values of groups; an unknown name in braces stays as it is."""
    for name, value in groups.items():
        text = text.replace(f"{{{name}}}", value)
    return text


def events_of(text: str, signs: Sequence[tuple[str, Sign]]) -> Iterator[Event]:
    """The events of the signs, each with its class, that a text matches."""
    for code, sign in signs:
        if found := compiled(sign.pattern).search(text):
            groups = found.groupdict("")
            says = (
                filled(sign.event.says, groups).replace(" ()", "").replace("  ", " ").rstrip(": ")
            )
            yield sign.event._replace(code=code, says=says, groups=groups)


def may_matter(shape: bytes) -> bool:
    """Whether a line of this shape may match a sign, or has a text that the engine looks for."""
    text = shape[:LONGEST_TEXT].decode("latin-1")
    return any(own in text for own in _OWN) or bool(_numbers(text)) or text in short_shapes()


def is_foreign(text: str) -> bool:
    """Whether a line may have a message in another language than English."""
    shape = shape_of(text[:LONGEST_TEXT].encode("utf-8", "replace")).decode("latin-1")
    return _FOREIGN in _numbers(shape) or shape in short_shapes()


def _candidates(shape: str) -> list[tuple[str, Sign]]:
    """The signs that a line of this shape can match, in the order of the classes."""
    signs = _index()[0]
    return [signs[number] for number in _numbers(shape) if number != _FOREIGN]


@lru_cache(SHAPES)
def _numbers(shape: str) -> list[int]:
    """The numbers of these signs, and _FOREIGN if a translation may be in the line."""
    texts = _index()[1]
    ends = texts.keys() & grams(shape)
    return sorted({number for end in ends for text, number in texts[end] if text in shape})


@cache
def _index() -> tuple[list[tuple[str, Sign]], dict[str, list[tuple[str, int]]]]:
    """All signs with their classes' codes, and the signs' fixed texts by their last letters."""
    searched = {*classes()} - codes_with("last-resort")
    signs = [(code, sign) for code in sorted(searched) for sign in classes()[code].signs]
    texts: dict[str, list[tuple[str, int]]] = {}
    for number, shapes in enumerate(_fixed_texts([sign.pattern for _, sign in signs])):
        for text in shapes:
            texts.setdefault(text[-GRAM:], []).append((text, number))
    for text in shapes_of_translations():
        texts.setdefault(text[-GRAM:], []).append((text, _FOREIGN))
    return signs, texts


def _fixed_texts(patterns: Sequence[str]) -> list[list[str]]:
    """The shapes of fixed texts, one of which is in each match of a pattern.

    A file has them, since to find them takes as long as all else; a new pattern may not be in it.
    """
    with open(FIXED_TEXTS, encoding="utf-8") as stream:
        rows = [line.split("\t") for line in stream.read().split("\n")]
    found = {row[0]: row[1:] for row in rows}
    new = [pattern for pattern in patterns if pattern not in found]
    found |= dict(zip(new, shapes_of_literals(new), strict=False)) if new else {}
    return [found[pattern] for pattern in patterns]


def shapes_of_literals(patterns: Sequence[str]) -> list[list[str]]:
    """The shapes of the literals of each pattern's first line."""
    parts = literals([_ABOVE.split(pattern)[0] for pattern in patterns])
    return [[_shape(text) for text in texts] for texts in parts]


def _shape(text: str) -> str:
    return shape_of(text.encode("ascii", "ignore")).decode("ascii")


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when it is first used."""
    return re.compile(pattern)


def literals(patterns: Sequence[str]) -> list[list[str]]:
    """For each pattern, lower-case texts, one of which is in each match; "" is in any text."""
    rest = "\n".join(patterns)  # all at once, which takes a third of the time
    for written, meant in _BRACKETS.items():
        rest = rest.replace(written, meant)
    rest = _ATOM.sub(_GAP, rest).translate(_ANYTHING).lower()
    rest = _TIMES.sub("*", _LOOKS.sub(f"({_LOOK}", _NAME.sub("(", rest))).replace("?", "*")
    *parts, last = rest.split("*")  # each but the last may be left out, or repeated
    rest = "".join([f"{p}*" if p[-1:] in ")(|" else p[:-1] + _GAP for p in parts]) + last
    while "(" in rest:  # the innermost groups first
        rest = _GROUP.sub(_without_parentheses, _PLAIN.sub(r"\1", rest))
    rest = rest.translate(_BRACKETS_AGAIN)
    return [[*dict.fromkeys(_best(one).split(_OR))] for one in rest.split("\n")]


def _without_parentheses(group: re.Match[str]) -> str:
    body, repeated = group.groups()
    if repeated or body[:1] == _LOOK:
        return _GAP
    return f"{_GAP}{_best(body)}{_GAP}" if "|" in body else body


def _best(alternatives: str) -> str:
    """The longest fixed text of each alternative; for a group, the shortest of its texts counts."""
    if "|" not in alternatives and _OR not in alternatives:
        return _longest(alternatives)
    return _OR.join([_longest(one) for one in alternatives.split("|")])


def _longest(alternative: str) -> str:
    texts = alternative.split(_GAP)
    longest = max(texts, key=len)
    if _OR in alternative or longest in _COMMON:
        return max(texts, key=_size)
    return longest


def _size(texts: str) -> int:
    if _OR in texts:
        return min(map(_size, texts.split(_OR)))
    return 0 if texts in _COMMON else len(texts)
