"""The rules of lint: one file for each; the file of the rule JG101 is `jg101_….py`.

A rule's file has `check(script)`, which yields findings, and a docstring: its first line is the
title, the rest is the page. At its end is an example, which the tests lint: the lines of a script
that has the mistake (-), those of the same script without it (+), and those of both. They begin
with #!/bin/bash, if no other line names an interpreter. A file may have PROFILE, the profile for
its example, and OPTIONAL: if that is true, the rule is searched for only where it is selected. A
finding has edits if it has one right mend, which `--fix` makes: one that changes no command. Not
here: how a script is read (reader/), which rules are searched for (settings), and how scripts are
mended (fix).
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import NamedTuple, Protocol

from jobgen.errors import Edit
from jobgen.lint.reader.commands import Assignment, Command, Word
from jobgen.lint.reader.directives import Directive
from jobgen.lint.reader.script import Gpus, Script

# What the file of a rule needs.
__all__ = [
    "Assignment",
    "Command",
    "Directive",
    "Edit",
    "Finding",
    "Findings",
    "Gpus",
    "Script",
    "Word",
    "finding_at",
    "replacement",
    "without_line",
]


class Placed(Protocol):
    """What has a place in a script: a word, a command, an assignment, a directive."""

    @property
    def line(self) -> int: ...
    @property
    def column(self) -> int: ...


class Finding(NamedTuple):
    """What a rule has found, where, and what to type instead.

    `raw` is the text that it is about, as the script has it; without it, that is the word at the
    place. The `edits` make it right, if there is only one right mend, and change no command.
    """

    line: int
    column: int
    text: str
    cure: str
    raw: str = ""
    edits: tuple[Edit, ...] = ()


Findings = Iterator[Finding]


def finding_at(place: Placed, text: str, cure: str, edits: Iterable[Edit] = ()) -> Finding:
    """A finding at a word, a command, an assignment or a directive."""
    words = getattr(place, "words", ())  # of a command, whose name is meant
    raw = getattr(words[0] if words else place, "raw", "")
    return Finding(place.line, place.column, text, cure, raw, tuple(edits))


def replacement(line: int, column: int, old: str, new: str) -> Edit:
    """The edit that puts a text in the place of another on a line."""
    return Edit(line, column, line, column + len(old), new)


def without_line(script: Script, line: int) -> Edit:
    """The edit that removes a line, which is not the only one."""
    if line < len(script.lines):
        return Edit(line, 1, line + 1, 1, "")
    before, last = script.lines[-2:]
    return Edit(line - 1, len(before) + 1, line, len(last) + 1, "")


_EXAMPLE = "\n\nExample:\n"


@dataclass(frozen=True)
class Rule:
    """A rule by its code, such as JG101."""

    code: str
    module: ModuleType

    @property
    def title(self) -> str:
        """What the rule finds, in one line."""
        return self._docstring.splitlines()[0].rstrip(".")

    @property
    def page(self) -> str:
        """Why it fails, the evidence, and the cure."""
        return self._docstring.partition("\n")[2].partition(_EXAMPLE)[0].strip()

    @property
    def bad(self) -> str:
        """A script in which it finds something."""
        return self._example("-")

    @property
    def good(self) -> str:
        """The same script without the mistake."""
        return self._example("+")

    @property
    def _docstring(self) -> str:
        return self.module.__doc__ or ""

    def _example(self, mark: str) -> str:
        lines = self._docstring.partition(_EXAMPLE)[2].rstrip("\n").split("\n")
        script = "".join(f"{line[2:]}\n" for line in lines if line[0] in (" ", mark))
        return script if "#!" in script else f"#!/bin/bash\n{script}"

    @property
    def optional(self) -> bool:
        """Whether it is searched for only where it is selected."""
        return bool(getattr(self.module, "OPTIONAL", False))

    @property
    def profile(self) -> str | None:
        """The profile that its examples are for, if it needs one."""
        return getattr(self.module, "PROFILE", None)

    def check(self, script: Script) -> Findings:
        """What it finds in a script."""
        found: Findings = self.module.check(script)
        return found


def codes() -> list[str]:
    """The codes of all rules, sorted; no rule is imported."""
    return list(_modules())


@cache
def rules() -> dict[str, Rule]:
    """All rules by their codes, sorted."""
    return {
        code: Rule(code, import_module(f"{__name__}.{name}")) for code, name in _modules().items()
    }


@cache
def _modules() -> dict[str, str]:
    """The names of the rules' modules by their codes, sorted."""
    names = sorted(name for _, name, _ in pkgutil.iter_modules(__path__))
    return {name.partition("_")[0].upper(): name for name in names if name.startswith("jg")}
