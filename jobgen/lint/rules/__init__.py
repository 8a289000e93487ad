"""The rules of lint: a folder for each subject, with a text for each rule and the checks of all.

jobgen/explanation.py explains the format of a text, jg101_….txt. The page of a rule says why the
job fails, with the evidence and the cure. The last part is an example, which the tests lint: lines
of a script with the mistake (-), lines of the same script without it (+), and lines of both. Both
scripts begin with #!/bin/bash if no line names an interpreter; ␍ is a carriage return. A
field names the Profile for the example, or the versions that it is For.

The check of a rule is the function with the name of the rule's text. It yields findings. A finding
has edits, which `--fix` makes, if it has one right mend that changes no command. Not here: how a
script is read (reader/), which rules are chosen (settings), and how scripts are mended (fix).
"""

import os
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from importlib import import_module
from typing import NamedTuple

# A rule's file imports what it needs from here; `X as X` passes a name on.
from jobgen.errors import Edit as Edit
from jobgen.explanation import read_explanation
from jobgen.lint.reader.commands import Assignment as Assignment
from jobgen.lint.reader.commands import Command as Command
from jobgen.lint.reader.commands import Word as Word
from jobgen.lint.reader.directives import Directive as Directive
from jobgen.lint.reader.script import Gpus as Gpus
from jobgen.lint.reader.script import Script as Script


class Finding(NamedTuple):
    """A mistake that a rule has found, its place, and what to type instead.

    `raw` is the text of the script that the finding is about; an empty `raw` stands for the word
    at `line` and `column`. If there is only one right mend, `edits` make it; no command changes.
    """

    line: int
    column: int
    text: str
    cure: str
    raw: str = ""
    edits: tuple[Edit, ...] = ()


Findings = Iterator[Finding]


Place = Word | Command | Assignment | Directive | Gpus


def finding_at(place: Place, text: str, cure: str, edits: Iterable[Edit] = ()) -> Finding:
    """A finding at the place of a part of a script; for a command, at the command's name."""
    named = place.words[0] if isinstance(place, Command) and place.words else place
    raw = named.raw if isinstance(named, Word | Directive) else ""
    return Finding(place.line, place.column, text, cure, raw, tuple(edits))


def replacement(line: int, column: int, old: str, new: str) -> Edit:
    """The edit that replaces `old`, which begins at this line and column, with `new`."""
    return Edit(line, column, line, column + len(old), new)


def without_line(script: Script, line: int) -> Edit:
    """The edit that removes a line of a script that has at least two lines."""
    if line < len(script.lines):
        return Edit(line, 1, line + 1, 1, "")
    before, last = script.lines[-2:]
    return Edit(line - 1, len(before) + 1, line, len(last) + 1, "")


Check = Callable[[Script], Findings]
NEEDS_PROFILE = "JG7"  # the codes of rules that compare a script with its cluster begin so
NEEDS_VERSION = "JG222"  # the rule that compares a script with the versions of --for
off_by_default: set[Check] = set()


def optional(check: Check) -> Check:
    """Mark a check as off by default: its rule is used only if the user selects the rule."""
    off_by_default.add(check)
    return check


class Rule(NamedTuple):
    """A rule, as its text describes it."""

    code: str
    title: str  # what the rule finds, in one line
    page: str  # why it fails, the evidence, and the cure
    bad: str  # a script with the mistake
    good: str  # the same script without the mistake
    optional: bool
    profile: str | None  # for the two scripts, if they need one
    versions: tuple[str, ...]  # likewise: slurm=23.11


@cache
def checks() -> dict[str, Check]:
    """The checks of all rules by their codes, sorted; no text is read."""
    subjects = [name for _, name, _ in pkgutil.iter_modules(__path__)]
    functions = {
        name: function
        for subject in subjects
        for name, function in vars(import_module(f"{__name__}.{subject}")).items()
        if re.match(r"jg\d{3}_", name)
    }
    return {name[:5].upper(): functions[name] for name in sorted(functions)}


@cache
def rules() -> dict[str, Rule]:
    """All rules by their codes, sorted."""
    return {code: _rule(code, check) for code, check in checks().items()}


def _rule(code: str, check: Check) -> Rule:
    folder, name = check.__module__.rpartition(".")[2], check.__name__
    file = os.path.join(os.path.dirname(__file__), folder, f"{name}.txt")
    title, page, fields, example = read_explanation(file, ("Profile", "For"), "Example")
    bad, good = (_script(example.splitlines(), mark) for mark in "-+")
    profile, versions = fields["Profile"] or None, tuple(fields["For"].split())
    return Rule(code, title, page, bad, good, check in off_by_default, profile, versions)


def _script(example: Sequence[str], mark: str) -> str:
    """One script of an example: the lines of both scripts, and the lines with this mark."""
    script = "".join(f"{line[2:]}\n" for line in example if line[0] in (" ", mark))
    script = script.replace("␍", "\r")
    return script if "#!" in script else f"#!/bin/bash\n{script}"
