"""Reads a script with tree-sitter's grammar of bash: from its tree to commands in their places."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from jobgen.errors import problem
from jobgen.lint.directives import OUTER, Directive, options, read
from jobgen.lint.script import STARTERS, Assignment, Command, Script, Submitted, Word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

SHELLS = frozenset(("bash", "sh", "zsh", "dash"))
# Where the shell may not get to, or gets to more than once.
_MAYBE = frozenset(
    """
    if_statement while_statement for_statement c_style_for_statement case_statement list subshell
    function_definition command_substitution process_substitution elif_clause else_clause
    """.split()
)

_DOTS = ("...", "…")  # of a sketch: something was left out

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


def parse(text: str, file: str, begins: int = 1, given: Iterable[Directive] = ()) -> Script:
    """The script in `text`, however broken it is; above the line `begins` are empty ones.

    The options that are `given` to sbatch or qsub count instead of the script's own.
    """
    marked = text.startswith("\ufeff")
    text = text.removeprefix("\ufeff")
    script = Script(file, text, marked=marked, begins=begins)
    try:
        if not script.foreign:
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
    firsts = [each.line for each in script.commands if each.name not in _DOTS] + [
        each.line for each in script.assignments
    ]
    first = min(_first_line(script.lines), min(firsts, default=len(script.lines) + 1))
    inside = {line for start, end in script.quoted for line in range(start, end + 1)}
    directives, script.stray = read(script.lines, first)
    instead = {each.option for each in given}
    script.directives = [
        each for each in directives if each.line not in inside and each.option not in instead
    ]
    script.directives += given
    return script


def _first_line(lines: Iterable[str]) -> int:
    """The line of the first command, as sbatch and qsub find it: no comment, not blank."""
    number = 0
    for number, line in enumerate(lines, 1):
        if line.strip() not in ("", *_DOTS) and not line.lstrip().startswith("#"):
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
        root = parser().parse(_plain(self.data)).root_node
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
            listed = self.script.inner_comments if self.depth else self.script.comments
            listed.append(Word(self._raw(node), line, column))
        elif kind in ("heredoc_body", "ERROR"):
            if kind == "heredoc_body":
                self._quoted(node)
            self._expansions(node)
            return
        elif kind in ("string", "raw_string"):
            self._quoted(node)
        elif kind == "redirected_statement" and self.depth == 0:
            self._submitted(node)
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

    def _submitted(self, node: Node) -> None:
        """Note the script in `sbatch <<EOF`, `cat <<EOF | sbatch`."""
        for redirect in node.children:
            parts = {child.type: child for child in redirect.children}
            if redirect.type != "heredoc_redirect" or not (body := parts.get("heredoc_body")):
                continue
            piped = parts["pipeline"].children if "pipeline" in parts else []
            for part in [*node.children, *piped]:
                words = (
                    [self._raw(word) for word in part.children] if part.type == "command" else []
                )
                if words and words[0].rpartition("/")[2] in ("sbatch", "qsub"):
                    line, column = self._place(part)
                    given = options(words, line, column)
                    quoted = re.search(r"""['"\\]""", self._raw(parts["heredoc_start"]))
                    told = self._heredoc(body, not quoted, "<<-" in parts, given)
                    self.script.submitted.append(told)

    def _heredoc(
        self, body: Node, expands: bool, no_tabs: bool, given: list[Directive]
    ) -> Submitted:
        if expands:
            text, places = self._inside(body)
        else:
            places = list(range(body.start_byte, body.end_byte + 1))
            text = self.data[body.start_byte : body.end_byte].decode("utf-8", "surrogatepass")
        # What the outer shell puts on a line of its own may be nothing, a directive, a command.
        lines = re.sub(
            rf"^[ \t]*({OUTER}\w*[ \t]*)+$", lambda found: " " * len(found[0].encode()), text,
            flags=re.MULTILINE,
        ).split("\n")  # fmt: skip
        begins, at, columns = body.start_point.row + 1, 0, []
        for number, line in enumerate(lines):
            tabs = len(line) - len(line.lstrip("\t")) if no_tabs else 0
            start, row = self.starts[begins + number - 1], []
            for letter in line:
                head = self.source[start : places[at]].decode("utf-8", "replace")
                row.append(len(head) + 1)
                at += len(letter.encode("utf-8", "surrogatepass"))
            at += 1
            columns.append(row[tabs:])
            lines[number] = line[tabs:]
        return Submitted("\n" * (begins - 1) + "\n".join(lines), begins, columns, given)

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
        items = None
        if value is not None and value.type == "array":
            items = tuple(self._word(child) for child in value.children if child.is_named)
        if name is not None and name.type == "subscript":
            self.script.dynamic.add(named)
        made = Assignment(
            named, word, line, column, exported, of_command, not within & _MAYBE, added,
            self._offset(node.start_byte), self.depth, items,
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
        """The text of a quoted string as the inner shell gets it, each byte with its offset.

        That of a heredoc keeps its lines.
        """
        data, places = bytearray(), []
        heredoc = node.type == "heredoc_body"
        escaped = b"$`\\" if heredoc else b'$`"\\\n'

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
            elif node.type == "string" or heredoc:
                outer = [child for child in node.children if child.type in (
                    "simple_expansion", "expansion", "command_substitution", "arithmetic_expansion"
                )]  # fmt: skip
                at = start if heredoc else start + 1
                for child in outer:
                    plain(at, child.start_byte)
                    name = re.sub(rb"\W", b"", self.data[child.start_byte : child.end_byte])[:60]
                    resolved = self.script.resolved(
                        self._raw(child).strip(), self._offset(child.start_byte)
                    )
                    literal = re.fullmatch(r"[\w./:,=@% +-]*", resolved)
                    value = resolved.encode() if literal else OUTER.encode() + name
                    raw = self.data[child.start_byte : child.end_byte]
                    put(raw[: len(raw) - len(raw.lstrip())], child.start_byte)
                    put(value, child.start_byte, 0)
                    put(b"\n" * (raw.strip().count(b"\n") * heredoc), child.end_byte, 0)
                    at = child.end_byte
                plain(at, end if heredoc else end - 1)
            else:
                put(self.data[start:end], start)

        def plain(at: int, end: int) -> None:
            while at < end:
                if self.data[at : at + 1] == b"\\" and self.data[at + 1 : at + 2] in escaped:
                    if self.data[at + 1 : at + 2] != b"\n":
                        put(self.data[at + 1 : at + 2], at + 1)
                    at += 2
                else:
                    put(self.data[at : at + 1], at)
                    at += 1

        piece(node)
        places.append(self._offset(node.end_byte))
        return data.decode("utf-8", "surrogatepass"), places


def _plain(data: bytes) -> bytes:
    """`data` with `$(((A)) && B)`, which the grammar takes for arithmetic, as `$(: A   && B)`.

    It is as long as it was, so that every place stays.
    """
    if b"$(((" not in data:
        return data
    return re.sub(rb"\$\(\(\(([^()]*)\)\)(?=\s*(?:&&|\|\|))", rb"$(: \1  ", data)


def _unescaped(text: str) -> str:
    return re.sub(r'\\([$`"\\\n])', lambda found: found[1].strip("\n"), text)


def _starter(command: Command) -> str:
    for word in command.words:
        if word.text.rpartition("/")[2] in STARTERS:
            return word.text.rpartition("/")[2]
    return ""


def _error(node: Node) -> Node:
    """The first node that is an error."""
    for child in node.children:
        if child.has_error or child.is_missing:
            return _error(child) if child.type != "ERROR" else child
    return node
