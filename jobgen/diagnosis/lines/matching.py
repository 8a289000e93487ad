"""Finds the signs that a line matches: a fixed part of each pattern is searched for first."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

from jobgen.diagnosis.classes.index import index
from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.lines.translated import shapes_of_translations, short_shapes
from jobgen.diagnosis.reader import GRAM, grams, shape_of
from jobgen.diagnosis.signs import ABOVE, Sign

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
_COMMENT = re.compile(r"\s*(?:#|//) ")  # of a program or a script that quotes a tool
_QUOTED_VALUE = re.compile(r"\s+(?:- )?[a-z_]+: ([\"']).*\1$")  # of YAML: a text about a failure
_FOREIGN = -1  # in place of a sign's number


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
    of_two_lines = [(code, sign) for code, sign in signs if ABOVE.search(sign.pattern)]
    signs = [each for each in signs if each not in of_two_lines]
    found = list(events_of(f"{text}\n{above[:LONGEST_TEXT]}", of_two_lines)) if above else []
    single = list(events_of(text, signs))
    if text[:1] == " ":  # an indented line may match as it is, or without its indent
        single += events_of(text.lstrip(), signs)
    found += [event._replace(unread=unread) for event in single]
    if any(each.role is Role.NOISE for each in found):
        return []
    return list({each.code: each for each in reversed(found)}.values())[::-1]


def is_harmless(text: str) -> bool:
    """Whether a sign knows that a line says nothing of a failure."""
    return any(e.role is Role.NOISE for e in events_of(text, _candidates(_shape(text))))


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
            if "fewer" in groups and int(groups["fewer"]) >= int(groups["more"]):
                continue
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
    numbers = (number for number in _numbers(shape) if number != _FOREIGN)
    return [index().sign(number) for number in numbers]


@lru_cache(SHAPES)
def _numbers(shape: str) -> list[int]:
    """The numbers of these signs, and _FOREIGN if a translation may be in the line."""
    texts = _texts()
    ends = texts.keys() & grams(shape)
    return sorted({number for end in ends for text, number in texts[end] if text in shape})


@cache
def _texts() -> dict[str, list[tuple[str, int]]]:
    """The fixed texts with the numbers of their signs, by the texts' last letters."""
    texts: dict[str, list[tuple[str, int]]] = {}
    for number, own in index().texts():
        for text in own:
            texts.setdefault(text[-GRAM:], []).append((text, number))
    for text in shapes_of_translations():
        texts.setdefault(text[-GRAM:], []).append((text, _FOREIGN))
    return texts


def _shape(text: str) -> str:
    return shape_of(text.encode("ascii", "ignore")).decode("ascii")


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled when it is first used."""
    return re.compile(pattern)
