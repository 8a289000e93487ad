"""The records of a script's syntax: words, assignments and commands, each with its place."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

# A string for another shell is read as a script. In it, this character and a name stand for an
# expansion of the outer shell whose value is not known.
OUTER = "\ue000"
# In the value of a variable, this character stands for a $ that begins no expansion.
LITERAL = "\ue001"
SHELLS = frozenset(("bash", "sh", "zsh", "dash"))
# Commands that run their arguments on other nodes, or once for each task.
STARTERS = frozenset(
    """
    srun pbsdsh pbs_tmrsh mpiexec mpirun mpiexec.hydra ssh pdsh clush parallel-ssh pssh prun orterun
    aprun jsrun flux deepspeed ibrun prterun torchrun_jsc horovodrun
    """.split()
)


class Syntax(NamedTuple):
    """A piece of syntax around a place: its kind, as the parser names it, and where it begins.

    Two kinds are not the parser's: `tested` is around a command whose status the shell looks at, as
    in `if`, and `shell` or `eval` around a string that is a script, which begins with its command.
    """

    kind: str
    start: int


Path = tuple[Syntax, ...]  # from the outermost to the innermost
_SCRIPTS = ("shell", "eval")
# Syntax whose commands the shell may skip, or run more than once.
UNCERTAIN = frozenset(
    """
    if_statement while_statement for_statement c_style_for_statement case_statement list subshell
    function_definition command_substitution process_substitution elif_clause else_clause
    """.split()
)


class Place(NamedTuple):
    """A place of a script; in a string for another shell, `starter` is what starts that shell."""

    offset: float
    path: Path = ()
    starter: str = ""


class Use(NamedTuple):
    """Where a variable is used; `is_plain` without a default or another change of its value."""

    name: str
    line: int
    column: int
    place: Place
    is_plain: bool


def kinds_of(path: Path) -> frozenset[str]:
    """The kinds of syntax around a place, up to the string that is the place's script."""
    kinds = [each.kind for each in path]
    last = max((index for index, kind in enumerate(kinds) if kind in _SCRIPTS), default=-1)
    return frozenset(kinds[last + 1 :])


class Word(NamedTuple):
    """A word of a script; `text` has no quotes, and expansions in it are as written."""

    text: str
    line: int
    column: int
    variables: tuple[str, ...] = ()  # the variables that it expands
    has_substitution: bool = False  # whether the word has a $(command)
    raw: str = ""  # the word as written, with its quotes
    marked: str = ""  # `text` with LITERAL for each $ that begins no expansion

    @property
    def is_literal(self) -> bool:
        """Whether the word has no expansions, so that every shell reads it as `text`."""
        return not self.variables and not self.has_substitution and OUTER not in self.text


@dataclass(frozen=True)
class Assignment:
    """NAME=VALUE: by itself, exported, or for a single command."""

    name: str
    value: Word
    line: int
    column: int
    is_exported: bool = False
    is_for_command: bool = False
    is_appended: bool = False  # NAME+=VALUE
    is_local: bool = False  # to its function
    offset: int = 0
    path: Path = ()
    depth: int = 0
    items: tuple[Word, ...] | None = None  # the items of an array, NAME=(VALUE …)
    setter: str = ""  # what else sets the variable: read, for_statement, …

    @property
    def place(self) -> Place:
        """Where the assignment is."""
        return Place(self.offset, self.path)

    @property
    def is_certain(self) -> bool:
        """Whether every run of the script gets here exactly once."""
        return not kinds_of(self.path) & UNCERTAIN


@dataclass(frozen=True)
class Command:
    """A simple command."""

    words: tuple[Word, ...]
    line: int
    column: int
    offset: int
    assignments: tuple[Assignment, ...] = ()
    path: Path = ()
    piped_into: str = ""  # the name of the next command of its pipeline
    starter: str = ""  # for a command in a quoted script: what starts that script (srun, …)
    depth: int = 0  # how many quoted scripts this command is nested in

    @property
    def text(self) -> str:
        """The words of the command, without their quotes."""
        return " ".join(word.text for word in self.words)

    @property
    def arguments(self) -> list[str]:
        """The words after the command's name, without their quotes."""
        return [word.text for word in self.words[1:]]

    @property
    def place(self) -> Place:
        """Where the command is."""
        return Place(self.offset, self.path, self.starter)

    @cached_property
    def enclosing(self) -> frozenset[str]:
        """The kinds of syntax around the command: function_definition, pipeline, …."""
        return kinds_of(self.path)

    @cached_property
    def name(self) -> str:
        """The command's name without its folder."""
        return base_name(self.words[0].text) if self.words else ""


def base_name(path: str) -> str:
    """A program's name without its folder."""
    return path.rpartition("/")[2]


def starter_of(command: Command, words: Iterable[Word] | None = None) -> str:
    """The starter of a command (srun, pbsdsh, …); "" if it runs where the script runs.

    Only `words` are searched, if they are given.
    """
    if command.starter:
        return command.starter
    for word in command.words if words is None else words:
        if (name := base_name(word.text)) in STARTERS:
            return name
    return ""
