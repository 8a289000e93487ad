"""The rules of lint: for each, its text, jg101_….txt, and beside it its check, jg101_….py.

jobgen/explanation.py says what a text looks like. The page says why the job fails, and has the
evidence and the cure; the last part is an example, which the tests lint: the lines of a script that
has the mistake (-), those of the same script without it (+), and those of both. They begin with
#!/bin/bash, if no other line names an interpreter; ␍ is a carriage return. The one field, Profile,
is that of the example.

A module has `check(script)`, which yields findings. If its OPTIONAL is true, the rule is searched
for only where it is selected. A finding has edits if it has one right mend that changes no command:
`--fix` makes them. Not here: how a script is read (reader/), which rules are searched for
(settings), and how scripts are mended (fix).
"""

import os
import pkgutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import NamedTuple, Protocol

# With those that are imported under their own names, what the file of a rule needs.
from jobgen.errors import Edit as Edit
from jobgen.explanation import read_explanation
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


class Check(NamedTuple):
    """The search for what a rule, such as JG101, is about."""

    code: str
    find: Callable[[Script], Findings]
    optional: bool  # only where the rule is selected

    @property
    def needs_profile(self) -> bool:
        """Whether it compares a script with its cluster."""
        return self.code.startswith("JG7")


class Rule(NamedTuple):
    """What the text of a rule says."""

    code: str
    title: str  # what it finds, in one line
    page: str  # why it fails, the evidence, and the cure
    bad: str  # a script in which it finds something
    good: str  # the same script without the mistake
    optional: bool
    profile: str | None  # of the examples, if they need one


@cache
def checks() -> dict[str, Check]:
    """The checks of all rules by their codes, sorted; no text is read."""
    modules = {code: import_module(f"{__name__}.{name}") for code, name in _names().items()}
    return {
        code: Check(code, module.check, getattr(module, "OPTIONAL", False))
        for code, module in modules.items()
    }


@cache
def rules() -> dict[str, Rule]:
    """All rules by their codes, sorted."""
    return {code: _rule(code, name) for code, name in _names().items()}


@cache
def _names() -> dict[str, str]:
    """The names of the rules' files by their codes, sorted."""
    names = sorted(name for _, name, _ in pkgutil.iter_modules(__path__))
    return {name.partition("_")[0].upper(): name for name in names if name.startswith("jg")}


def _rule(code: str, name: str) -> Rule:
    file = os.path.join(os.path.dirname(__file__), f"{name}.txt")
    title, page, fields, example = read_explanation(file, ("Profile",), "Example")
    bad, good = (_script(example.splitlines(), mark) for mark in "-+")
    profile = fields["Profile"] or None
    return Rule(code, title, page, bad, good, checks()[code].optional, profile)


def _script(example: Sequence[str], mark: str) -> str:
    """The script of an example: the lines of both, and those with a mark."""
    script = "".join(f"{line[2:]}\n" for line in example if line[0] in (" ", mark))
    script = script.replace("␍", "\r")
    return script if "#!" in script else f"#!/bin/bash\n{script}"
