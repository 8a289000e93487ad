"""A job script as the rules see it: its directives, and its commands with their places."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

from jobgen.lint.documents import is_document
from jobgen.lint.options import Versions
from jobgen.lint.reader.commands import OUTER, Assignment, Command, Place, Use, Word
from jobgen.lint.reader.directives import Directive, chunks, whole_number
from jobgen.lint.reader.flow import Flow
from jobgen.profiles.keys.request import asks_for_whole_nodes
from jobgen.profiles.model import Profile

# An expansion of the batch script, in its own words or in those of a string for another shell.
_SLURM = re.compile(r"\$(?:SLURM_(\w+)|\{SLURM_(\w+)(?::?-[^{}]*)?\})")
_OUTER_SLURM = re.compile(rf"{OUTER}SLURM_([A-Z_]+)()")
_ARITHMETIC = re.compile(r"\$\(\([^()]*\)\)")
_BARE_NAME = re.compile(r"(?<![\w$])([A-Za-z_]\w*)")
_PRODUCT = re.compile(r"\$\(\(\s*(\d{1,6})\s*\*\s*(\d{1,6})\s*\)\)")
Request = tuple[Directive, list[tuple[int, Mapping[str, str]]]]


@dataclass(frozen=True)
class Gpus:
    """The GPUs of a node that the directives ask for, and the place of the request."""

    count: int
    line: int
    column: int


@dataclass(frozen=True)
class SubmittedScript:
    """A script that a heredoc gives to sbatch or qsub.

    Only empty lines are before `first_line`. `column` maps places in `text` to columns in the file.
    """

    text: str
    first_line: int
    options: list[Directive]  # on the command line of sbatch or qsub
    column: Callable[[int, int], int]


@dataclass(eq=False)  # caches of other modules have the script's identity as their key
class Script:
    """The parts of a script; if a heredoc holds it, the lines before `first_line` are empty."""

    file: str
    text: str
    first_line: int = 1
    has_byte_order_mark: bool = False  # in the file, before `text`
    directives: list[Directive] = field(default_factory=list)
    stray_words: list[Directive] = field(default_factory=list)  # words that are no options
    commands: list[Command] = field(default_factory=list)
    assignments: list[Assignment] = field(default_factory=list)
    flow: Flow = field(default_factory=Flow)
    functions: set[str] = field(default_factory=set)
    function_ranges: list[tuple[str, int, int]] = field(default_factory=list)  # name, start, end
    comments: list[Word] = field(default_factory=list)
    inner_comments: list[Word] = field(default_factory=list)  # in quoted scripts
    variable_uses: list[Use] = field(default_factory=list)
    # Lines in heredocs, and all lines but the first of strings of several lines.
    quoted_lines: set[int] = field(default_factory=set)
    submitted_scripts: list[SubmittedScript] = field(default_factory=list)
    parse_error: tuple[int, int] | None = None  # the first place that cannot be parsed
    profile: Profile | None = None  # of the script's cluster, if the user has named a profile
    versions: Versions = ()  # of Slurm and other tools, if the user asks for some

    @cached_property
    def lines(self) -> list[str]:
        """The lines of the script, without their line ends."""
        return self.text.split("\n")

    @cached_property
    def code(self) -> str:
        """The lines of the script that are not comments."""
        return "\n".join(line for line in self.lines if not line.lstrip().startswith("#"))

    @property
    def is_in_document(self) -> bool:
        """Whether the script comes from a document, which may show only a part of it."""
        return is_document(self.file)

    @cached_property
    def interpreter(self) -> str:
        """The words after #! in the first line that is not empty: `/bin/bash`."""
        first = next((line for line in self.lines if line.strip()), "")
        return first[2:].strip() if first.startswith("#!") else ""

    @cached_property
    def is_other_language(self) -> bool:
        """Whether the script's interpreter is not a Bourne shell."""
        words = self.interpreter.split()
        names = [word.rpartition("/")[2] for word in words if not re.match(r"-|\w+=", word)]
        names = names[1:] if names[:1] == ["env"] else names
        return bool(names) and not re.match(r"(ba|da|z|k|mk|a)?sh\b", names[0])

    # ---- what the directives say ----

    @cached_property
    def scheduler(self) -> str:
        """`slurm` or `pbs`, by its directives or else by the variables it uses; "" if unknown."""
        prefixes = {use.name.partition("_")[0] for use in self.variable_uses if "_" in use.name}
        by_variables = {name.lower() for name in prefixes & {"SLURM", "PBS"}}
        found = {directive.scheduler for directive in self.directives} or by_variables
        return found.pop() if len(found) == 1 else ""

    @cached_property
    def active_directives(self) -> list[Directive]:
        """The directives that the scheduler reads: those before the first command."""
        return [directive for directive in self.directives if not directive.is_late]

    def directive(self, *options: str) -> Directive | None:
        """The last directive of an option, which overrides the others; `options` are its names.

        None for a heterogeneous job, because each part of the job has its own directives.
        """
        if any(directive.option == "hetjob" for directive in self.active_directives):
            return None
        found = [each for each in self.active_directives if each.option in options]
        return found[-1] if found else None

    def number(self, option: str) -> int | None:
        """The value of an option's directive if it is a plain number, else None."""
        directive = self.directive(option)
        return whole_number(directive.value) if directive else None

    @cached_property
    def chunk_requests(self) -> list[Request]:
        """The directives that ask PBS for chunks, each with its chunks."""
        return list(self._requests("select"))

    def _requests(self, name: str) -> Iterator[Request]:
        for directive in self.active_directives:
            for value in [value for each, value in directive.resources if each == name][:1]:
                yield directive, chunks(value.partition("#")[0])

    @cached_property
    def _node_requests(self) -> list[Request]:
        """The chunk requests, else those of `nodes=2:ppn=8:gpus=4` (Torque, pbs_resources(7B))."""
        return self.chunk_requests or list(self._requests("nodes"))

    @cached_property
    def nodes(self) -> int | None:
        """How many nodes the directives ask for; None if they do not say."""
        if directive := self.directive("nodes"):
            return whole_number(directive.value)
        if self._node_requests:
            return sum(count for count, _ in self._node_requests[-1][1])
        return None

    @cached_property
    def nodes_directive(self) -> Directive | None:
        """The directive that asks for nodes."""
        return self.directive("nodes") or next((each for each, _ in self._node_requests[-1:]), None)

    @cached_property
    def gpus_per_node(self) -> Gpus | None:
        """The GPUs of a node that the directives ask for; None if they do not say."""
        if self._node_requests:
            directive, requested = self._node_requests[-1]
            name = "ngpus" if self.chunk_requests else "gpus"
            counts = {resources.get(name, "") for _, resources in requested}
            gpus = whole_number(counts.pop()) if len(counts) == 1 else None
            return None if gpus is None else Gpus(gpus, directive.line, directive.column)
        request = self.directive("gpus-per-node") or self.directive("gres")
        if not request or request.gpus is None:
            return None
        return Gpus(request.gpus, request.line, request.column)

    @cached_property
    def walltime(self) -> tuple[Directive, str] | None:
        """The directive that limits the job's time, and its text; the last one counts."""
        time = self.directive("time")
        found = [(time, time.value)] if time else []
        for each in self.active_directives:
            found += [(each, value) for name, value in each.resources if name == "walltime"]
        return found[-1] if found else None

    @cached_property
    def asks_for_whole_nodes(self) -> bool:
        """Whether the directives ask for nodes that no other job may use."""
        exclusive = self.directive("exclusive")
        return bool(exclusive and exclusive.value in ("", "exclusive")) or any(
            name == "place" and asks_for_whole_nodes(value)
            for directive in self.active_directives
            for name, value in directive.resources
        )

    @cached_property
    def _slurm_numbers(self) -> Mapping[str, str]:
        """The variables that Slurm sets to the numbers of the directives."""
        nodes, per_node, tasks = self.nodes, self.number("ntasks-per-node"), self.number("ntasks")
        gpus, of_node = self.directive("gpus"), self.directive("gpus-per-node")
        numbers = {
            "NNODES": nodes,
            "JOB_NUM_NODES": nodes,
            "NTASKS": tasks or (nodes * per_node if nodes and per_node else None),
            "NTASKS_PER_NODE": per_node,
            "CPUS_PER_TASK": self.number("cpus-per-task"),
            "GPUS": gpus and gpus.gpus,
            "GPUS_PER_NODE": of_node and of_node.gpus,
            "GPUS_ON_NODE": self.gpus_per_node and self.gpus_per_node.count,
        }
        is_slurm = self.scheduler == "slurm"
        return {name: str(number) for name, number in numbers.items() if number and is_slurm}

    # ---- what the shell does ----

    def resolved(self, text: str, at: Command | None = None) -> str:
        """`text` with the variables whose values are known at a command, or at the end."""
        place = at.place if at else Place(inf)
        value = self.flow.resolved(text, place)
        if "$((" in value:
            named = _ARITHMETIC.sub(lambda found: _BARE_NAME.sub(r"$\1", found[0]), value)
            value = self.flow.resolved(named, place)
        if "SLURM_" in value:
            pattern = _SLURM if at and at.depth == 0 else _OUTER_SLURM
            value = pattern.sub(self._slurm_number, value)
        return _PRODUCT.sub(lambda found: str(int(found[1]) * int(found[2])), value)

    def _slurm_number(self, found: re.Match[str]) -> str:
        name = found[1] or found[2]
        set_by_script = self.flow.sets(f"SLURM_{name}")
        return found[0] if set_by_script else self._slurm_numbers.get(name, found[0])

    def origin(self, text: str, at: Command) -> str:
        """`text` with the values known at a command, also with commands that give a value."""
        return self.flow.resolved(text, at.place, with_commands=True)

    @property
    def exports(self) -> Set[str]:
        """The variables that the script exports anywhere."""
        return self.flow.exports.keys()

    def constant(self, name: str) -> Assignment | None:
        """The assignment whose value a variable has at the end of the script, if it is certain."""
        found = self.flow.certain(name, Place(inf))
        return None if found and found.setter else found

    def assignments_of(self, name: str) -> list[Assignment]:
        """Every assignment of a variable."""
        return [assignment for assignment in self.assignments if assignment.name == name]

    @cached_property
    def own_commands(self) -> list[Command]:
        """The commands outside strings for another shell."""
        return [command for command in self.commands if command.depth == 0]

    def expanded_words(self, command: Command) -> list[Word]:
        """A command's words after the shell has replaced known values and split them."""
        if all(word.is_literal for word in command.words):
            return list(command.words)
        return [each for word in command.words for each in self._expanded(word, command)]

    def _expanded(self, word: Word, at: Command) -> Iterable[Word]:
        if word.is_literal or not (word.variables or OUTER in word.text or "$((" in word.text):
            return [word]
        if items := self.flow.array(word.text, at.place):
            return items
        text = self.resolved(word.text, at)
        if text == word.text:
            return [word]
        if re.search("[\"']", word.raw):  # the shell splits no value in quotes
            return [word._replace(text=text)]
        return [word._replace(text=part) for part in text.split()]

    def has_set(self, option: str, before: Command) -> bool:
        """Whether a command comes after `set -o OPTION` or, for errexit, `set -e`."""
        pattern = " -[a-zA-Z]*e|errexit" if option == "errexit" else option
        return any(
            offset < before.offset and re.search(pattern, text)
            for offset, text in self._set_options
        )

    @cached_property
    def _set_options(self) -> list[tuple[int, str]]:
        """The options that the first line and `set` give the shell, each with its place."""
        sets = [each for each in self.own_commands if each.name == "set"]
        first = self.lines[0].split()[1:] if self.lines[0].startswith("#!") else []
        return [(-1, " ".join(("set", *first))), *((each.offset, each.text) for each in sets)]

    @cached_property
    def runs_itself(self) -> bool:
        """Whether the script starts itself once more, perhaps on each node."""
        return any(
            re.search(r"\$0\b|\$\{0\}|BASH_SOURCE", word.text)
            and "dirname" not in self.lines[word.line - 1]
            and command.name not in ("echo", "basename", "cd", "printf", "cp", "cat", "realpath")
            for command in self.commands
            for word in command.words
        )
