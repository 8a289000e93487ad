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

import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import NamedTuple, Protocol

# With those that are imported under their own names, what the file of a rule needs.
from jobgen.errors import Edit as Edit
from jobgen.lint.reader.commands import Assignment as Assignment
from jobgen.lint.reader.commands import Command as Command
from jobgen.lint.reader.commands import Word as Word
from jobgen.lint.reader.directives import Directive as Directive
from jobgen.lint.reader.script import Gpus as Gpus
from jobgen.lint.reader.script import Script as Script


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


class Rule(NamedTuple):
    """A rule by its code, such as JG101: what its file has."""

    code: str
    title: str  # what it finds, in one line
    page: str  # why it fails, the evidence, and the cure
    bad: str  # a script in which it finds something
    good: str  # the same script without the mistake
    check: Callable[[Script], Findings]
    optional: bool  # searched for only where it is selected
    profile: str | None  # of the examples, if they need one


def codes() -> list[str]:
    """The codes of all rules, sorted; no rule is imported."""
    return list(_modules())


@cache
def rules() -> dict[str, Rule]:
    """All rules by their codes, sorted."""
    return {code: _rule(code, name) for code, name in _modules().items()}


@cache
def _modules() -> dict[str, str]:
    """The names of the rules' modules by their codes, sorted."""
    names = sorted(name for _, name, _ in pkgutil.iter_modules(__path__))
    return {name.partition("_")[0].upper(): name for name in names if name.startswith("jg")}


def _rule(code: str, name: str) -> Rule:
    module = import_module(f"{__name__}.{name}")
    text, _, example = (module.__doc__ or "").partition("\n\nExample:\n")
    title, _, page = text.partition("\n")
    bad, good = (_script(example.rstrip("\n").split("\n"), mark) for mark in "-+")
    optional = getattr(module, "OPTIONAL", False)
    profile = getattr(module, "PROFILE", None)
    return Rule(code, title.rstrip("."), page.strip(), bad, good, module.check, optional, profile)


def _script(example: Sequence[str], mark: str) -> str:
    """The script of an example: the lines of both, and those with a mark."""
    script = "".join(f"{line[2:]}\n" for line in example if line[0] in (" ", mark))
    return script if "#!" in script else f"#!/bin/bash\n{script}"
