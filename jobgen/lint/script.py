"""A job script as the rules see it: its directives, and its commands with their positions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from jobgen.lint.directives import OUTER, Directive, Stray, chunk, whole

if TYPE_CHECKING:
    pass

LONGEST = 4096  # characters that the values of variables add to a word: each may double the last
# What runs its argument on other nodes, or once a task.
STARTERS = frozenset(
    """
    srun pbsdsh pbs_tmrsh mpiexec mpirun mpiexec.hydra ssh pdsh clush parallel-ssh pssh prun orterun
    aprun jsrun flux deepspeed ibrun prterun torchrun_jsc horovodrun
    """.split()
)


@dataclass(frozen=True)
class Word:
    """A word: `text` without its quotes, expansions as they are written; `variables` it expands."""

    text: str
    line: int
    column: int
    variables: tuple[str, ...] = ()
    substitutes: bool = False  # it has a $(command) in it
    raw: str = ""

    @property
    def literal(self) -> bool:
        """Whether it is what it says, in every shell."""
        return not self.variables and not self.substitutes and OUTER not in self.text


@dataclass(frozen=True)
class Assignment:
    """NAME=VALUE: by itself, exported, or for one command alone (`of_command`)."""

    name: str
    value: Word
    line: int
    column: int
    exported: bool = False
    of_command: bool = False
    certain: bool = True  # every run gets here, once
    added: bool = False  # +=
    offset: int = 0
    depth: int = 0
    items: tuple[Word, ...] | None = None  # of an array, NAME=(VALUE …)


@dataclass(frozen=True)
class Command:
    """A simple command. `within` has what it is a part of: function_definition, pipeline, …"""

    words: tuple[Word, ...]
    line: int
    column: int
    offset: int
    assignments: tuple[Assignment, ...] = ()
    within: frozenset[str] = frozenset()
    before: str = ""  # the name of the next command of its pipeline
    piped: bool = False  # another command of its pipeline comes before it
    starter: str = ""  # what runs it on the nodes, if it is in a string that is a script itself
    depth: int = 0  # how many such strings it is in
    last: bool = False  # nothing runs after it

    @property
    def name(self) -> str:
        """The command's name without its folder."""
        return self.words[0].text.rpartition("/")[2] if self.words else ""


@dataclass(frozen=True)
class Submitted:
    """A script that a heredoc gives to sbatch or qsub, on its lines: it begins on `begins`.

    `columns` has for each of its lines where its letters stand in the file.
    """

    text: str
    begins: int
    columns: list[list[int]]
    given: list[Directive]  # the options of the command line

    def column(self, line: int, column: int) -> int:
        """Where what is in a column of the script stands in the file."""
        row = line - self.begins
        found = self.columns[row] if 0 <= row < len(self.columns) else []
        return found[column - 1] if column <= len(found) else column


@dataclass
class Script:
    """All that is in a script; `broken` is the place where it cannot be read."""

    file: str
    text: str
    directives: list[Directive] = field(default_factory=list)
    stray: list[Stray] = field(default_factory=list)
    commands: list[Command] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    exports: set[str] = field(default_factory=set)
    dynamic: set[str] = field(default_factory=set)  # variables that loops, read and such set
    functions: set[str] = field(default_factory=set)
    comments: list[Word] = field(default_factory=list)
    inner_comments: list[Word] = field(default_factory=list)  # in strings that are scripts
    uses: list[tuple[str, int]] = field(default_factory=list)  # variables, with their lines
    quoted: list[tuple[int, int]] = field(default_factory=list)  # lines inside heredocs, strings
    broken: tuple[int, int] | None = None
    submitted: list[Submitted] = field(default_factory=list)
    begins: int = 1  # the line of its beginning: in a heredoc, those above it are empty
    marked: bool = False  # a byte order mark comes before `text`
    values: dict[tuple[str, int], str] = field(default_factory=dict)  # found by `resolved`

    @cached_property
    def foreign(self) -> bool:
        """Whether its first line names a program that is no shell of Bourne's kind."""
        first = self.lines[self.begins - 1]
        words = first[2:].split() if first.startswith("#!") else []
        names = [each.rpartition("/")[2] for each in words if not re.match(r"-|\w+=", each)]
        names = names[1:] if names[:1] == ["env"] else names
        return bool(names) and not re.match(r"(ba|da|z|k|mk|a)?sh\b", names[0])

    @cached_property
    def lines(self) -> list[str]:
        """Its lines, without their ends."""
        return self.text.split("\n")

    @cached_property
    def scheduler(self) -> str:
        """`slurm` or `pbs`, by its directives or else by the variables it uses; "" if unknown."""
        told = {each.scheduler for each in self.directives}
        if told:
            return self.directives[0].scheduler if len(told) == 1 else ""
        names = {name for name, _ in self.uses}
        slurm = any(name.startswith("SLURM_") for name in names)
        pbs = any(name.startswith("PBS_") for name in names)
        return "slurm" if slurm and not pbs else "pbs" if pbs and not slurm else ""

    @cached_property
    def live(self) -> list[Directive]:
        """The directives that are read."""
        return [each for each in self.directives if not each.late]

    def option(self, *names: str) -> Directive | None:
        """The directive of an option that counts, the last one; None if each part has its own."""
        if any(each.option == "hetjob" for each in self.live):
            return None
        found = [each for each in self.live if each.option in names]
        return found[-1] if found else None

    @cached_property
    def selects(self) -> list[tuple[Directive, list[tuple[int, Mapping[str, str]]]]]:
        """The chunks that PBS is asked for, with their directives."""
        found = []
        for each in self.live:
            told = re.search(r"select=([^,]*)", each.value)
            if told and each.scheduler == "pbs" and each.option == "l":
                found.append((each, chunk(told[1])))
        return found

    @cached_property
    def nodes(self) -> int | None:
        """How many nodes are asked for; None if the directives do not say."""
        if told := self.option("nodes"):
            return whole(told.value)
        if self.selects:
            _, chunks = self.selects[-1]
            return sum(count for count, _ in chunks)
        return None

    @cached_property
    def known(self) -> Mapping[str, Assignment]:
        """The variables, and arrays, that are set once, on every way through the script."""
        once: dict[str, list[Assignment]] = {}
        for each in self.assignments:
            if not each.of_command:
                once.setdefault(each.name, []).append(each)
        return {
            name: found[0]
            for name, found in once.items()
            if len(found) == 1
            and found[0].certain
            and not found[0].added
            and found[0].depth == 0
            and name not in self.dynamic
        }

    def resolved(self, text: str, before: int | None = None, depth: int = 8) -> str:
        """`text` with the values of variables that are known, as far as LONGEST lets them in."""
        room = LONGEST

        def value(found: re.Match[str]) -> str:
            nonlocal room
            told = of(found)
            more = max(0, len(told) - len(found[0]))
            if more > room:
                return found[0]
            room -= more
            return told

        def of(found: re.Match[str]) -> str:
            name = found[1] or found[2]
            told = self.known.get(name)
            if not told or depth == 0 or (told.value.substitutes and told.items is None):
                return found[0]
            if before is not None and told.offset > before:
                return found[0]
            if told.items is not None:
                return self._of_array(found[0], told.items)
            if told.value.raw.startswith(("'", "$'")):
                return told.value.text
            if (name, depth) not in self.values:
                text = self.resolved(told.value.text, told.offset, depth - 1)
                self.values[name, depth] = text
            return self.values[name, depth]

        if "$" not in text:
            return text
        return re.sub(r"\$(?:\{#?([A-Za-z_]\w*)(?:\[[\d@*]+\])?\}|([A-Za-z_]\w*))", value, text)

    def _of_array(self, said: str, items: tuple[Word, ...]) -> str:
        """What ${NAME[0]} or ${#NAME[@]} is; anything else, and what is no plain text, stays."""
        index = re.search(r"\[(\d+)\]", said)
        if said.startswith("${#") and not index and all(each.literal for each in items):
            return str(len(items))
        number = int(index[1]) if index else 0
        plain = not re.search(r"#|\[[@*]", said) and number < len(items) and items[number].literal
        return items[number].text if plain else said

    def words(self, command: Command) -> list[Word]:
        """A command's words, with those of variables that are known, which the shell splits."""
        found = []
        for word in command.words:
            if not word.variables:
                found.append(word)
                continue
            if items := self._items(word, command.offset):
                found += [
                    replace(each, text=self.resolved(each.text, command.offset)) for each in items
                ]
                continue
            text = self.resolved(word.text, command.offset)
            if text == word.text:
                found.append(word)
            elif word.raw.startswith('"'):
                found.append(replace(word, text=text))
            else:
                found += [replace(word, text=part) for part in text.split()]
        return found

    def _items(self, word: Word, before: int) -> tuple[Word, ...]:
        """What "${NAME[@]}" stands for, if the array is known."""
        whole = re.fullmatch(r"\$\{(\w+)\[@\]\}", word.text)
        told = self.known.get(whole[1]) if whole else None
        return (told.items or ()) if told and told.offset < before else ()

    def set_to(self, name: str) -> list[Assignment]:
        """Every assignment of a variable."""
        return [each for each in self.assignments if each.name == name]


def starter(command: Command, words: Iterable[Word] | None = None) -> str:
    """What starts a command on the nodes: srun, pbsdsh, …; "" if it runs where the script does."""
    if command.starter:
        return command.starter
    for word in command.words if words is None else words:
        if (name := word.text.rpartition("/")[2]) in STARTERS:
            return name
    return ""
