"""Lines of YAML with comments, whatever the scheduler's names are."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, field

from jobgen.errors import Mark, printable
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import kind_at
from jobgen.profiles.yaml_tree import parse

WIDTH = 100
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*[A-Za-z0-9]")
_WORDS_OF_YAML = {"true", "false", "yes", "no", "on", "off", "null"}

Value = str | int | bool | list[str]


@dataclass
class Section:
    """Lines of one part of a profile; "" for the keys that stand alone."""

    name: str
    lines: list[str] = field(default_factory=list)
    has_keys: bool = False

    def comment(self, text: str) -> None:
        """A comment, in as many lines as it needs; a list's indented items keep their indent."""
        shown = printable(text)
        indent = re.match(" *", shown)[0]  # type: ignore[index]
        room = WIDTH - 4
        lines = textwrap.wrap(shown, room, subsequent_indent=indent, break_on_hyphens=False)
        self.lines += [f"# {line}".rstrip() for line in lines or [""]]

    def comments(self, texts: Iterable[str]) -> None:
        for text in texts:
            self.comment(text)

    def key(self, name: str, value: Value, note: str = "") -> None:
        """A key of the profile; one that jobgen would refuse becomes a comment that says so."""
        line = f"{name}: {yaml(value)}"
        if not _is_valid(f"{self.name}.{name}".lstrip("."), value):
            self.comment(f"{line}  # jobgen takes no such value")
            return
        if note:
            self.comment(note)
        self.lines.append(line)
        self.has_keys = True

    def text(self) -> str:
        """The lines below the section's name; without any key, the name is a comment, too."""
        if not self.name:
            return "".join(f"{line}\n" for line in self.lines)
        head = f"{self.name}:" if self.has_keys else f"# {self.name}:"
        lines = (
            f"  {line}" if self.has_keys else f"# {'  ' + line.removeprefix('# ')}"
            for line in self.lines
        )
        return "".join(f"{line}\n" for line in ("", head, *lines)) if self.lines else ""


def yaml(value: Value) -> str:
    """A value as YAML reads it again, in one line."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(_quoted(each) for each in value)}]"
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS_OF_YAML:
        return value
    return _quoted(value)


def _quoted(text: str) -> str:
    return '"' + "".join(map(_escaped, text)) + '"'


def _escaped(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if " " <= character <= "~":
        return character
    number = ord(character)
    return f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"


def _is_valid(path: str, value: Value) -> bool:
    """Whether the profile's model takes a value."""
    mark = Mark("detect")
    problems = ProblemList()
    kind = kind_at(ROOT, path.split("."), mark, problems)
    if kind is None:
        return False
    kind.read(parse(yaml(value).encode(), "detect"), problems)
    return not problems.found
