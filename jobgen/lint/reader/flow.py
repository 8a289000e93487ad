"""What a variable holds at a place of a script, found once for all rules.

A place is an offset and the syntax around it. An assignment may be the one whose value a variable
holds at a place if it runs before: earlier in the text, in a function that is called before, or
later in the same loop. The last one that always runs before the place hides those before it. A
value does not leave a subshell, a pipe, a background command or a string for another shell. It
enters such a string, and a program, only if it is exported; Slurm sets its numbers anew in a task.

The branches of `if` and `case` exclude each other; otherwise a branch or a loop may run or not. A
function that is called more than once is taken as if its variables were set at the first call, and
used at the last one. What a sourced file sets is not known.
"""

import re
from collections.abc import Iterable, Sequence
from math import inf
from typing import NamedTuple

from jobgen.bounds import LINT_ASSIGNMENTS, LINT_VALUE_CHARACTERS
from jobgen.lint.reader.commands import (
    LITERAL,
    OUTER,
    Assignment,
    Command,
    Path,
    Place,
    Syntax,
    Word,
)

_EXPANSION = re.compile(r"\$(?:\{#?([A-Za-z_]\w*)(?:\[[\d@*]+\])?\}|([A-Za-z_]\w*))")
_SIMPLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_COMMAND = re.compile(r"`[^`]*`|\$\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
# Syntax with a shell of its own, whose variables the shell around it does not get.
_OWN_SHELL = frozenset(
    "subshell command_substitution process_substitution pipeline background shell".split()
)
_TRANSPARENT = ("tested", "eval")  # syntax that always runs, in the same shell
_BRANCHES = ("elif_clause", "else_clause", "case_item")
_LOOPS = ("for_statement", "while_statement", "c_style_for_statement")
# Commands that give no variable of their shell to the other machine.
_WITHOUT_ENVIRONMENT = ("ssh", "pdsh", "clush", "pssh", "parallel-ssh", "pbsdsh", "pbs_tmrsh")
_OF_TASK = re.compile(r"SLURM_(PROCID|NODEID|LOCALID)|SLURMD_NODENAME")


class Held(NamedTuple):
    """The assignments whose value a variable may hold at a place, the last one first.

    With `is_set`, one of them always runs before the place, so that no other value is possible.
    """

    assignments: tuple[Assignment, ...] = ()
    is_set: bool = False


class Flow:
    """The assignments of a script, in the order of its text; more may be added."""

    def __init__(self) -> None:
        self._assignments: dict[str, list[Assignment]] = {}
        self._values: dict[int, str] = {}  # by the id of an assignment whose value is known
        self.exports: dict[str, int] = {}  # by the variable's name: the offset of the first export
        self._calls: dict[Syntax, list[Command]] = {}  # by the definition of a function

    def add(self, assignment: Assignment) -> None:
        """Add an assignment; its value may contain the values of earlier ones."""
        if not assignment.setter and assignment.items is None and not assignment.is_appended:
            value = self._resolved(assignment.value.marked, assignment.place)
            self._values[id(assignment)] = value
        self._assignments.setdefault(assignment.name, []).append(assignment)
        if assignment.is_exported:
            self.export(assignment.name, assignment.offset)

    def export(self, name: str, offset: int) -> None:
        """Note that a variable is exported at an offset."""
        self.exports.setdefault(name, offset)

    def add_calls(
        self, functions: Iterable[tuple[str, Syntax]], commands: Sequence[Command]
    ) -> None:
        """Note where functions are called, after all commands have been read."""
        for name, definition in functions:
            found = [each for each in commands if each.name == name and not each.depth]
            self._calls[definition] = [each for each in found if definition not in each.path]

    def holder(self, command: Command) -> Assignment | None:
        """What gets the output of a command in $(…): NAME=$(…), or read NAME <<< "$(…)"."""
        around = [each for each in command.path if each.kind in ("variable_assignment", "redirect")]
        every = (each for assignments in self._assignments.values() for each in assignments)
        return next((each for each in every if around and each.offset == around[-1].start), None)

    def sets(self, name: str) -> bool:
        """Whether anything in the script may set a variable."""
        return name in self._assignments

    def held(self, name: str, at: Place) -> Held:
        """What a variable may hold at a place."""
        found: list[Assignment] = []
        path = self._run(at, -1)[1]
        candidates = self._assignments.get(name, [])
        if len(candidates) > LINT_ASSIGNMENTS:
            return Held(tuple(candidates))
        for each in sorted(candidates, key=lambda each: self._order(each, at), reverse=True):
            if not self._reaches(each, at):
                continue
            found.append(each)
            own = self._run(each.place, 0)[1]
            always_runs = own == path[: len(own)] and self._is_before(each, at)
            if always_runs and not each.is_appended:
                return Held(tuple(found), True)
        return Held(tuple(found))

    def in_program(self, name: str, command: Command) -> Held:
        """What an environment variable may hold in the program that a command starts."""
        inside = Syntax("shell", command.offset)
        return self.held(name, Place(command.offset + 1, (*command.path, inside), command.starter))

    def certain(self, name: str, at: Place) -> Assignment | None:
        """The only assignment whose value a variable can hold at a place."""
        held = self.held(name, at)
        return held.assignments[0] if held.is_set and len(held.assignments) == 1 else None

    def _reaches(self, assignment: Assignment, at: Place) -> bool:
        """Whether an assignment may run before a place, in a shell whose variables it sees."""
        own, path = self._run(assignment.place, 0)[1], self._run(at, -1)[1]
        common = common_length(own, path)
        is_in_loop = any(each.kind in _LOOPS for each in own[:common])
        if not is_in_loop and not self._is_before(assignment, at):
            return False
        excluded = {each.kind for each in (*own[common : common + 1], *path[common : common + 1])}
        if common and excluded.intersection(_BRANCHES):
            return False
        if any(each.kind in _OWN_SHELL for each in own[common:]):
            return False
        if assignment.is_local and assignment.path[:1] != at.path[:1]:
            return False
        shells = [each for each in path[common:] if each.kind == "shell"]
        if assignment.is_for_command:
            return bool(shells) and assignment.offset >= shells[0].start
        return not shells or self._is_inherited(assignment, at)

    def _is_inherited(self, assignment: Assignment, at: Place) -> bool:
        is_exported = self.exports.get(assignment.name, inf) <= at.offset
        is_lost = at.starter in _WITHOUT_ENVIRONMENT or _OF_TASK.fullmatch(assignment.name)
        return is_exported and not is_lost

    def _is_before(self, assignment: Assignment, at: Place) -> bool:
        return self._order(assignment, at) < self._run(at, -1)[0]

    def _order(self, assignment: Assignment, at: Place) -> tuple[float, ...]:
        """When an assignment runs, seen from a place, which may be in the same function."""
        is_in_same = assignment.path[:1] == at.path[:1]
        return self._run(assignment.place, -1 if is_in_same else 0)[0]

    def _run(self, place: Place, call: int) -> tuple[tuple[float, ...], Path]:
        """When a place runs, as a key to sort by, and the syntax around it then.

        The body of a function runs where it is called; `call` is the index of the call that counts.
        A function that no command calls by its name may be called anywhere.
        """
        order: tuple[float, ...] = (place.offset,)
        path = tuple(each for each in place.path if each.kind not in _TRANSPARENT)
        for _ in range(len(self._calls)):
            if not path or path[0] not in self._calls:
                break
            if not (calls := self._calls[path[0]]):
                return ((inf, *order) if call else order), path
            order, path = (calls[call].offset, *order), calls[call].path + path[1:]
        return order, path

    # ---- values ----

    def resolved(self, text: str, at: Place, with_commands: bool = False) -> str:
        """`text` with the values of variables that are known at a place.

        OUTER stands for the $ of what another shell has expanded. With `with_commands`, a value may
        have the commands whose output it is.
        """
        return (
            self._resolved(text, at, with_commands).replace(LITERAL, "$") if "$" in text else text
        )

    def for_inner_shell(self, text: str, at: Place) -> str:
        """The text that another shell gets, with OUTER and a name for what is not known.

        "" if this is not possible.
        """
        value = self._resolved(text, at, with_commands=True)
        if _COMMAND.fullmatch(value):
            value = text  # the name of the variable says more
        value = _COMMAND.sub(lambda found: OUTER + re.sub(r"\W", "", found[0])[:60], value)
        value = _SIMPLE.sub(rf"{OUTER}\1\2", value)
        return "" if "$" in value or "`" in value else value.replace(LITERAL, "$")

    def _resolved(self, text: str, at: Place, with_commands: bool = False) -> str:
        """`text` with known values, which add at most LINT_VALUE_CHARACTERS."""
        remaining = LINT_VALUE_CHARACTERS

        def value(found: re.Match[str]) -> str:
            nonlocal remaining
            text = self._value(found, at, with_commands)
            growth = max(0, len(text) - len(found[0]))
            if growth > remaining:
                return found[0]
            remaining -= growth
            return text

        return _EXPANSION.sub(value, text)

    def _value(self, found: re.Match[str], at: Place, with_commands: bool) -> str:
        """The value of an expansion; the expansion itself if its value is not known."""
        expansion, name = found[0], found[1] or found[2]
        if not (assignment := self.certain(name, at)):
            return expansion
        if assignment.items is not None:
            return _array_value(expansion, assignment.items)
        own = assignment.value
        if own.has_substitution and not with_commands and not own.text.startswith("$(("):
            return expansion
        value = self._values.get(id(assignment), expansion)
        if _shells(assignment.path) == _shells(at.path):
            return value
        return re.sub("[$`]", OUTER, _SIMPLE.sub(rf"{OUTER}\1\2", value))

    def array(self, expansion: str, at: Place) -> tuple[Word, ...]:
        """The items that "${NAME[@]}" stands for; nothing if they are not known."""
        found = re.fullmatch(r"\$\{(\w+)\[@\]\}", expansion)
        assignment = self.certain(found[1], at) if found else None
        items = (assignment.items or ()) if assignment else ()
        where = assignment.place if assignment else at
        return tuple(item._replace(text=self.resolved(item.text, where)) for item in items)


def _shells(path: Path) -> list[Syntax]:
    return [each for each in path if each.kind == "shell"]


def common_length(path: Path, other: Path) -> int:
    """How many pieces of syntax, from the outermost, are around both of two places."""
    pairs = enumerate(zip(path, other, strict=False))
    return next((index for index, (own, its) in pairs if own != its), min(len(path), len(other)))


def _array_value(expansion: str, items: Sequence[Word]) -> str:
    """The value of ${NAME[0]} or ${#NAME[@]}; any other expansion stays as it is."""
    index = re.search(r"\[(\d+)\]", expansion)
    if expansion.startswith("${#") and not index and all(item.is_literal for item in items):
        return str(len(items))
    if re.search(r"#|\[[@*]", expansion):
        return expansion
    number = int(index[1]) if index else 0
    return items[number].text if number < len(items) and items[number].is_literal else expansion
