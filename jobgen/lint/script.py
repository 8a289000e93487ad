"""A job script as the rules see it: its directives, and its commands with their positions."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from jobgen.errors import problem
from jobgen.lint.directives import Directive, Stray, chunk, read, whole

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

# What runs its argument on other nodes, or once a task.
STARTERS = frozenset(
    """
    srun pbsdsh pbs_tmrsh mpiexec mpirun mpiexec.hydra ssh pdsh clush parallel-ssh pssh prun orterun
    aprun jsrun flux deepspeed ibrun prterun torchrun_jsc horovodrun
    """.split()
)
SHELLS = frozenset(("bash", "sh", "zsh", "dash"))
# What stands in for an expansion that the outer shell does, where a string is read as a script.
_OUTER = "\ue000"
# Where the shell may not get to, or gets to more than once.
_MAYBE = frozenset(
    """
    if_statement while_statement for_statement c_style_for_statement case_statement list subshell
    function_definition command_substitution process_substitution elif_clause else_clause
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
        return not self.variables and not self.substitutes and _OUTER not in self.text


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
    uses: list[tuple[str, int]] = field(default_factory=list)  # variables, with their lines
    quoted: list[tuple[int, int]] = field(default_factory=list)  # lines inside heredocs, strings
    broken: tuple[int, int] | None = None

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
        """The directive of an option that counts, the last one."""
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
        """The variables that are set once, on every way through the script."""
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
        """`text` with the values of variables that are known."""

        def value(found: re.Match[str]) -> str:
            name = found[1] or found[2]
            told = self.known.get(name)
            if not told or depth == 0 or told.value.substitutes:
                return found[0]
            if before is not None and told.offset > before:
                return found[0]
            if told.value.raw.startswith(("'", "$'")):
                return told.value.text
            return self.resolved(told.value.text, told.offset, depth - 1)

        if "$" not in text:
            return text
        return re.sub(r"\$(?:\{([A-Za-z_]\w*)\}|([A-Za-z_]\w*))", value, text)

    def words(self, command: Command) -> list[Word]:
        """A command's words, with those of variables that are known, which the shell splits."""
        found = []
        for word in command.words:
            if not word.variables:
                found.append(word)
                continue
            text = self.resolved(word.text, command.offset)
            if text == word.text:
                found.append(word)
            elif word.raw.startswith('"'):
                found.append(replace(word, text=text))
            else:
                found += [replace(word, text=part) for part in text.split()]
        return found

    def set_to(self, name: str) -> list[Assignment]:
        """Every assignment of a variable."""
        return [each for each in self.assignments if each.name == name]


_PARSER: list[Parser] = []


def parser() -> Parser:
    """The parser of bash. JobgenError if the extra that brings it is not installed."""
    if not _PARSER:
        try:
            import tree_sitter
            import tree_sitter_bash
        except ImportError:
            raise problem(
                "lint", "it needs tree-sitter and tree-sitter-bash", "missing",
                "pip install 'jobgen[lint]'",
            ) from None  # fmt: skip
        language = tree_sitter.Language(tree_sitter_bash.language())
        _PARSER.append(tree_sitter.Parser(language))
    return _PARSER[0]


def parse(text: str, file: str) -> Script:
    """The script in `text`, however broken it is."""
    script = Script(file, text)
    try:
        _Reader(script, text, [0], 0, "").read()
    except RecursionError:
        script.broken = (1, 1)
    if script.commands:
        script.commands.sort(key=lambda command: (command.line, command.column))
        tops = [each for each in script.commands if each.depth == 0]
        if tops:
            end = max(tops, key=lambda each: each.offset)
            at = script.commands.index(end)
            script.commands[at] = replace(end, last=True)
    firsts = [each.line for each in script.commands] + [each.line for each in script.assignments]
    first = min(_first_line(script.lines), min(firsts, default=len(script.lines) + 1))
    inside = {line for start, end in script.quoted for line in range(start, end + 1)}
    directives, script.stray = read(script.lines, first)
    script.directives = [each for each in directives if each.line not in inside]
    return script


def _first_line(lines: Iterable[str]) -> int:
    """The line of the first command, as sbatch and qsub find it: no comment, not blank."""
    number = 0
    for number, line in enumerate(lines, 1):
        if line.strip() and not line.lstrip().startswith("#"):
            return number
    return number + 1


class _Reader:
    """Walks the tree of a script, or of a string that is one; `places` is its bytes' offsets."""

    def __init__(
        self, script: Script, text: str, places: list[int], depth: int, starter: str
    ) -> None:
        self.script, self.depth, self.starter = script, depth, starter
        self.data = text.encode("utf-8", "surrogatepass")
        self.places = places
        source = script.text.encode("utf-8", "surrogatepass")
        self.source = source
        self.starts = [0, *(found.end() for found in re.finditer(b"\n", source))]

    def read(self) -> None:
        """Note all that is in it."""
        root = parser().parse(self.data).root_node
        if root.has_error and self.depth == 0:
            self.script.broken = self._place(_error(root))
        self._walk(root, frozenset(), "", False)

    def _offset(self, at: int) -> int:
        return at if self.depth == 0 else self.places[min(at, len(self.places) - 1)]

    def _place(self, node: Node) -> tuple[int, int]:
        at = self._offset(node.start_byte)
        line = bisect_right(self.starts, at)
        head = self.source[self.starts[line - 1] : at]
        return line, len(head.decode("utf-8", "replace")) + 1

    def _raw(self, node: Node) -> str:
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")

    def _walk(self, node: Node, within: frozenset[str], before: str, piped: bool) -> None:
        kind = node.type
        if kind == "command":
            self._command(node, within, before, piped)
        elif kind == "declaration_command":
            self._declaration(node, within)
        elif kind == "variable_assignment":
            self._assignment(node, within, False, False)
        elif kind == "comment":
            line, column = self._place(node)
            if self.depth == 0:
                self.script.comments.append(Word(self._raw(node), line, column))
        elif kind in ("heredoc_body", "ERROR"):
            if kind == "heredoc_body":
                self._quoted(node)
            self._expansions(node)
            return
        elif kind in ("string", "raw_string"):
            self._quoted(node)
        elif kind == "pipeline":
            self._pipeline(node, within, before)
            return
        elif kind == "for_statement":
            if name := node.child_by_field_name("variable"):
                self.script.dynamic.add(self._raw(name))
        elif kind == "function_definition":
            if name := node.child_by_field_name("name"):
                self.script.functions.add(self._raw(name))
        elif kind in ("simple_expansion", "expansion"):
            self._expansion(node)
        inner = within | {kind} if kind in _MAYBE else within
        after = node.children[1:]
        for child, following in zip(node.children, [*after, None], strict=False):
            if kind in ("command", "declaration_command") and child.type == "variable_assignment":
                for value in child.children:  # the assignment itself is noted by now
                    self._walk(value, inner, before, piped)
                continue
            background = following is not None and following.type == "&"
            self._walk(child, inner | {"background"} if background else inner, before, piped)

    def _quoted(self, node: Node) -> None:
        first, last = node.start_point.row, node.end_point.row
        if last > first and self.depth == 0:
            start = first + 1 if node.type == "heredoc_body" else first + 2
            self.script.quoted.append((start, last + 1))

    def _pipeline(self, node: Node, within: frozenset[str], before: str) -> None:
        parts = [child for child in node.children if child.is_named]
        for number, part in enumerate(parts):
            following = parts[number + 1] if number + 1 < len(parts) else None
            name = before
            if following is not None:
                found = re.match(r"\s*([\w./-]+)", self._raw(following))
                name = found[1].rpartition("/")[2] if found else "?"
            self._walk(part, within | {"pipeline"}, name, number > 0)

    def _expansions(self, node: Node) -> None:
        if node.type in ("simple_expansion", "expansion"):
            self._expansion(node)
        for child in node.children:
            self._expansions(child)

    def _expansion(self, node: Node) -> None:
        for child in node.children:
            if child.type == "subscript":
                child = child.children[0]
            if child.type == "variable_name":
                self.script.uses.append((self._raw(child), self._place(node)[0]))
                if "=" in [each.type.strip(":") for each in node.children]:
                    self.script.dynamic.add(self._raw(child))  # ${NAME:=value}
                break

    def _command(self, node: Node, within: frozenset[str], before: str, piped: bool) -> None:
        words, assignments = [], []
        name = node.child_by_field_name("name")
        for child in node.children:
            if child.type == "variable_assignment":
                # The grammar takes assignments on lines before a command for a part of it.
                gap = self.data[child.end_byte : name.start_byte] if name else b""
                own = b"\n" not in gap.replace(b"\\\n", b"")
                made = self._assignment(child, within, False, own)
                assignments += [made] if own else []
            elif child.type == "command_name":
                words.append(self._word(child.children[0]))
            elif child.is_named and not child.type.endswith(("redirect", "comment")):
                words.append(self._word(child))
        line, column = self._place(node)
        command = Command(
            tuple(words), line, column, self._offset(node.start_byte), tuple(assignments),
            within, before, piped, self.starter, self.depth,
        )  # fmt: skip
        self.script.commands.append(command)
        self._sets(command)
        self._strings(node, command)

    def _sets(self, command: Command) -> None:
        """Variables that a command sets by itself."""
        if command.name in ("read", "mapfile", "readarray", "getopts", "printf", "let", "unset"):
            for word in command.words[1:]:
                self.script.dynamic.add(word.text)

    def _declaration(self, node: Node, within: frozenset[str]) -> None:
        exports = node.children[0].type == "export" or any(
            re.fullmatch("-[a-zA-Z]*x[a-zA-Z]*", self._raw(child)) for child in node.children
        )
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                self._assignment(child, within, exports, False)
            elif child.type == "variable_name" and exports:
                self.script.exports.add(self._raw(child))

    def _assignment(
        self, node: Node, within: frozenset[str], exported: bool, of_command: bool
    ) -> Assignment:
        name = node.child_by_field_name("name")
        value = node.child_by_field_name("value")
        line, column = self._place(node)
        word = self._word(value) if value else Word("", line, column)
        added = any(child.type == "+=" for child in node.children)
        named = self._raw(name).partition("[")[0] if name else ""
        array = value is not None and value.type == "array"
        if array or (name is not None and name.type == "subscript"):
            self.script.dynamic.add(named)
        made = Assignment(
            named, word, line, column, exported, of_command, not within & _MAYBE, added,
            self._offset(node.start_byte), self.depth,
        )  # fmt: skip
        if exported:
            self.script.exports.add(named)
        self.script.assignments.append(made)
        return made

    def _word(self, node: Node) -> Word:
        line, column = self._place(node)
        names: list[str] = []
        text, substitutes = self._text(node, names)
        return Word(text, line, column, tuple(names), substitutes, self._raw(node))

    def _text(self, node: Node, names: list[str]) -> tuple[str, bool]:
        kind, raw = node.type, self._raw(node)
        if kind == "raw_string":
            return raw[1:-1], False
        if kind == "ansi_c_string":
            return raw[2:-1], False
        if kind in ("simple_expansion", "expansion"):
            inside = (
                each.children[0] if each.type == "subscript" else each for each in node.children
            )
            names += [self._raw(each) for each in inside if each.type == "variable_name"]
            return raw.lstrip(), kind == "expansion" and "$(" in raw
        if kind in ("command_substitution", "process_substitution", "arithmetic_expansion"):
            return raw.lstrip(), kind != "arithmetic_expansion" or "$(" in raw
        if kind == "array":
            return raw, True
        if kind == "string":
            return self._string(node, names)
        if kind == "concatenation":
            parts = [self._text(child, names) for child in node.children]
            return "".join(text for text, _ in parts), any(more for _, more in parts)
        return re.sub(r"\\(\n|.)", lambda found: found[1].strip("\n"), raw), False

    def _string(self, node: Node, names: list[str]) -> tuple[str, bool]:
        """Of what is between double quotes, the expansions by their nodes, the rest as it is."""
        text, at, more = "", node.start_byte + 1, False
        for child in node.children:
            if child.type in ("simple_expansion", "expansion", "command_substitution",
                              "arithmetic_expansion"):  # fmt: skip
                part, has = self._text(child, names)
                lead = self._raw(child)
                gap = self.data[at : child.start_byte].decode("utf-8", "replace")
                text += _unescaped(gap) + lead[: len(lead) - len(lead.lstrip())] + part
                more, at = more or has, child.end_byte
        gap = self.data[at : max(at, node.end_byte - 1)].decode("utf-8", "replace")
        return text + _unescaped(gap), more

    def _strings(self, node: Node, command: Command) -> None:
        """The script in `bash -c STRING`, `ssh HOST STRING`: read as one, in its place."""
        found = _starter(command)
        starter = self.starter or (found if found != "ssh-like" else "")
        named = [child for child in node.children if child.is_named]
        texts = [child for child in named if child.type != "variable_assignment"]
        for number, child in enumerate(texts[: len(command.words)]):
            shell = number > 1 and bool(re.fullmatch("-[a-z]*c", command.words[number - 1].text))
            shell = shell and any(
                each.text.rpartition("/")[2] in SHELLS for each in command.words[: number - 1]
            )
            last = command.name in ("ssh", "eval") and number == len(command.words) - 1 > 0
            if (shell or last) and child.type in ("raw_string", "string", "concatenation"):
                inside, places = self._inside(child)
                if self.depth < 4:
                    kind = starter if shell else (starter or found)
                    _Reader(self.script, inside, places, self.depth + 1, kind).read()

    def _inside(self, node: Node) -> tuple[str, list[int]]:
        """The text of a quoted string as the inner shell gets it, each byte with its offset."""
        data, places = bytearray(), []

        def put(text: bytes, at: int, step: int = 1) -> None:
            for number in range(len(text)):
                places.append(self._offset(at + number * step))
            data.extend(text)

        def piece(node: Node) -> None:
            start, end = node.start_byte, node.end_byte
            if node.type == "concatenation":
                for child in node.children:
                    piece(child)
            elif node.type == "raw_string":
                put(self.data[start + 1 : end - 1], start + 1)
            elif node.type == "string":
                outer = [child for child in node.children if child.type in (
                    "simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"
                )]  # fmt: skip
                at = start + 1
                for child in outer:
                    plain(at, child.start_byte)
                    name = re.sub(rb"\W", b"", self.data[child.start_byte : child.end_byte])[:60]
                    resolved = self.script.resolved(
                        self._raw(child).strip(), self._offset(child.start_byte)
                    )
                    literal = re.fullmatch(r"[\w./:,=@% +-]*", resolved)
                    value = resolved.encode() if literal else _OUTER.encode() + name
                    put(value, child.start_byte, 0)
                    at = child.end_byte
                plain(at, end - 1)
            else:
                put(self.data[start:end], start)

        def plain(at: int, end: int) -> None:
            while at < end:
                if self.data[at : at + 1] == b"\\" and self.data[at + 1 : at + 2] in b'$`"\\\n':
                    if self.data[at + 1 : at + 2] != b"\n":
                        put(self.data[at + 1 : at + 2], at + 1)
                    at += 2
                else:
                    put(self.data[at : at + 1], at)
                    at += 1

        piece(node)
        places.append(self._offset(node.end_byte))
        return data.decode("utf-8", "replace"), places


def _unescaped(text: str) -> str:
    return re.sub(r'\\([$`"\\\n])', lambda found: found[1].strip("\n"), text)


def _starter(command: Command) -> str:
    for word in command.words:
        if word.text.rpartition("/")[2] in STARTERS:
            return word.text.rpartition("/")[2]
    return ""


def starter(command: Command, words: Iterable[Word] | None = None) -> str:
    """What starts a command on the nodes: srun, pbsdsh, …; "" if it runs where the script does."""
    if command.starter:
        return command.starter
    for word in words or command.words:
        if (name := word.text.rpartition("/")[2]) in STARTERS:
            return name
    return ""


def _error(node: Node) -> Node:
    """The first node that is an error."""
    for child in node.children:
        if child.has_error or child.is_missing:
            return _error(child) if child.type != "ERROR" else child
    return node
