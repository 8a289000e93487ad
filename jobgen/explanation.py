"""The text of a class of failure, or of a lint rule: the problem, its cause, and what to do.

The first paragraph is the title. The part behind a line such as `Signs:` is for the room that has
the text. The paragraphs between are the page, except for one, which has fields. A field that is
longer than a line goes on in the next line, behind four blanks:

    Cure: what to do
    Not this: what looks like the cause,
        and is not
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

_NAME = re.compile(r"<([A-Z_]+)>")
_INDENT, _CONTINUED = " " * 4, " " * 8
_JOINT = "\0"  # between the lines of one pattern or heading


class Explanation(NamedTuple):
    """The parts of a text; a field that the text leaves out is empty."""

    title: str
    page: str
    fields: Mapping[str, str]
    last: str


def read_explanation(file: str, names: Sequence[str], last: str) -> Explanation:
    """Reads the text in a file; its fields, if it has any, begin with one of the `names`.

    Raises ValueError for a field with another name.
    """
    with open(file, encoding="utf-8") as stream:
        text, _, last_part = stream.read().partition(f"\n\n{last}:\n")
    title, *parts = text.split("\n\n")
    fields = dict.fromkeys(names, "")
    apart = [part for part in parts if part.partition(": ")[0] in names]
    for line in "\n".join(apart).replace("\n    ", " ").splitlines():
        name, _, value = line.partition(": ")
        if name not in fields:
            raise ValueError(f"{file}: `{name}` is none of {', '.join(names)}")
        fields[name] = value
    page = "\n\n".join(part for part in parts if part not in apart)
    return Explanation(title.rstrip("."), page, fields, last_part)


def read_patterns(text: str, parts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yields the patterns in a text, each behind its heading, the line above that is not indented.

    A line `NAME = …` defines a part, which replaces <NAME> in later patterns; `parts` has more.
    """
    all_parts, heading = {**parts}, ""
    for line in _whole_lines(text):
        if line.startswith(_INDENT):
            yield heading, _filled(line[len(_INDENT) :], all_parts)
        elif line[0].isupper():
            name, _, value = line.partition(" = ")
            all_parts[name] = _filled(value, all_parts)
        else:
            heading = line


def _whole_lines(text: str) -> list[str]:
    """Returns the lines without comments; a line indented twice continues the line before it."""
    lines = []
    for line in text.replace(f"\n{_CONTINUED}", _JOINT).splitlines():
        if _JOINT in line:
            lines.append(line.replace(_JOINT, " " if line[0].islower() else ""))
        elif line and not line.lstrip().startswith("# "):
            lines.append(line)
    return lines


def _filled(pattern: str, parts: dict[str, str]) -> str:
    """Returns the pattern with each <NAME> replaced by the part of this name."""
    return _NAME.sub(lambda found: parts[found[1]], pattern) if "<" in pattern else pattern
