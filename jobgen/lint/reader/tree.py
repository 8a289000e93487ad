"""Walks the syntax tree of a script, and records its commands, variables, … in a Script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from jobgen.bounds import LINT_NESTING
from jobgen.lint.reader.commands import (
    UNCERTAIN,
    Assignment,
    Command,
    Path,
    Place,
    Syntax,
    Use,
    Word,
    base_name,
    starter_of,
)
from jobgen.lint.reader.inner_scripts import inner_text, script_strings, submitted_scripts
from jobgen.lint.reader.script import Script
from jobgen.lint.reader.source import (
    EXPANSIONS,
    Source,
    first_error,
    parse_tree,
    read_word,
    to_bytes,
    variables,
    with_braces,
)

if TYPE_CHECKING:
    from tree_sitter import Node

_AROUND = UNCERTAIN | {"case_item", "pipeline", "test_command", "variable_assignment"}
# Nodes that have nothing to record; most nodes are of these kinds.
_LEAVES = frozenset(
    """
    word string_content variable_name special_variable_name file_descriptor heredoc_start
    heredoc_content heredoc_end regex test_operator
    """.split()
)
# Syntax that looks at the status of a command in it.
_TESTING = ("if_statement", "while_statement", "list", "negated_command")
_NOTED = ("command", "declaration_command")  # recorded together with the assignments in them
# Commands that set the variables that they name.
_SETTERS = ("read", "mapfile", "readarray", "getopts", "printf", "let")
_NAME = re.compile(r"[A-Za-z_]\w*")


def read_tree(script: Script) -> None:
    """Record all parts of a script. Raises RecursionError if its syntax is nested too deep."""
    data = to_bytes(script.text)
    _TreeReader(script, Source(data, *with_braces(data, range(len(data) + 1)))).read()


@dataclass
class _TreeReader:
    """Reads a script, or a quoted script inside a script, which the command `starter` runs."""

    script: Script
    source: Source
    depth: int = 0
    starter: str = ""
    path: Path = ()

    def read(self) -> None:
        root = parse_tree(self.source.data)
        if root.has_error and self.depth == 0:
            self.script.parse_error = self.source.place(first_error(root))
        self._walk(root, self.path, "")

    def _walk(self, node: Node, path: Path, piped_into: str) -> None:
        """Record a node and its children; `path` has the syntax around the node."""
        kind = node.type
        match kind:
            case "command":
                self._command(node, path, piped_into)
            case "declaration_command":
                self._declaration(node, path)
            case "variable_assignment":
                self._assignment(node, path)
            case "simple_expansion" | "expansion":
                self._expansion(node, path)
            case "string" | "raw_string" | "heredoc_body":
                self._quoted(node)
            case "comment":
                comments = self.script.inner_comments if self.depth else self.script.comments
                comments.append(Word(self.source.raw(node), *self.source.place(node)))
            case "for_statement":
                if name := node.child_by_field_name("variable"):
                    self._set(self.source.raw(name), node, (*path, self._syntax(node)))
            case "unset_command":
                for name in node.named_children:
                    self._set(self.source.raw(name), node, path)
            case "function_definition":
                self._function(node)
        first_command = len(self.script.commands)
        if kind in ("heredoc_body", "ERROR"):
            self._expansions(node, path)
        elif kind == "pipeline":
            self._pipeline(node, (*path, self._syntax(node)), piped_into)
        else:
            self._children(node, path, piped_into)
        if kind == "redirected_statement" and self.depth == 0:
            commands = self.script.commands[first_command:]
            found = submitted_scripts(node, commands, self.source, self.script)
            self.script.submitted_scripts.extend(found)

    def _syntax(self, node: Node, kind: str = "") -> Syntax:
        return Syntax(kind or node.type, self.source.offset(node.start_byte))

    def _children(self, node: Node, path: Path, piped_into: str) -> None:
        kind, children = node.type, node.children
        inner = (*path, self._syntax(node)) if kind in _AROUND else path
        for index, child in enumerate(children):
            if not child.is_named or child.type in _LEAVES:  # keywords such as `then` are unnamed
                continue
            if kind in _NOTED and child.type == "variable_assignment":
                for value in child.named_children:
                    self._walk(value, path, piped_into)
                continue
            around = inner
            if kind in _TESTING and _is_tested(node, index):
                around = path if kind == "if_statement" else inner
                around = (*around, self._syntax(node, "tested"))
            elif child.type == "herestring_redirect":  # read NAME <<< "$(command)"
                around = (*path, self._syntax(node, "redirect"))
            if index + 1 < len(children) and children[index + 1].type == "&":
                around = (*around, self._syntax(child, "background"))
            self._walk(child, around, piped_into)

    def _pipeline(self, node: Node, path: Path, piped_into: str) -> None:
        parts = [child for child in node.children if child.is_named]
        for part, following in pairwise(parts):
            name = re.match(r"\s*([\w./-]+)", self.source.raw(following))
            self._walk(part, path, base_name(name[1]) if name else "?")
        for last in parts[-1:]:
            self._walk(last, path, piped_into)

    def _quoted(self, node: Node) -> None:
        first, last = node.start_point.row + 1, node.end_point.row + 1
        if last > first and self.depth == 0:
            is_heredoc = node.type == "heredoc_body"
            self.script.quoted_lines.update(range(first if is_heredoc else first + 1, last + 1))

    def _function(self, node: Node) -> None:
        if child := node.child_by_field_name("name"):
            name = self.source.raw(child)
            self.script.functions.add(name)
            if self.depth == 0:
                self.script.function_ranges.append((name, node.start_byte, node.end_byte))

    def _expansions(self, node: Node, path: Path) -> None:
        """Record the expansions in text that is not a command, such as a heredoc."""
        if node.type in EXPANSIONS:
            self._expansion(node, path)
        for child in node.children:
            self._expansions(child, path)

    def _expansion(self, node: Node, path: Path) -> None:
        for name in variables(node, self.source)[:1]:
            place = Place(self.source.offset(node.start_byte), path, self.starter)
            is_plain = self.source.raw(node).strip() in (f"${name}", f"${{{name}}}")
            use = Use(name, *self.source.place(node), place, is_plain)
            self.script.variable_uses.append(use)
            if any(each.type.strip(":") == "=" for each in node.children):  # ${NAME:=value}
                self._set(name, node, (*path, self._syntax(node, "list")))

    def _command(self, node: Node, path: Path, piped_into: str) -> None:
        command = Command(
            tuple(self._words(node)),
            *self.source.place(node),
            self.source.offset(node.start_byte),
            tuple(self._command_assignments(node, path)),
            path,
            piped_into,
            self.starter,
            self.depth,
        )
        self.script.commands.append(command)
        self._setter(node, command)
        self._strings(node, command)

    def _setter(self, node: Node, command: Command) -> None:
        """Record the variables that a command such as `read` sets."""
        name = command.name
        if name not in _SETTERS or (name == "printf" and command.arguments[:1] != ["-v"]):
            return
        strings = [each for each in node.children if each.type == "herestring_redirect"]
        value = read_word(strings[0].children[-1], self.source) if strings else None
        names = [_NAME.match(word.text) for word in command.words[1:]]
        for found in filter(None, names[:2] if name == "printf" else names):
            self._set(found[0], node, command.path, name, value)

    def _set(
        self, name: str, node: Node, path: Path, setter: str = "", value: Word | None = None
    ) -> None:
        """Record that something other than an assignment sets a variable."""
        line, column = self.source.place(node)
        offset = self.source.offset(node.start_byte)
        value, setter = value or Word("", line, column), setter or node.type
        assignment = Assignment(name, value, line, column, offset=offset, path=path, setter=setter)
        self.script.flow.add(assignment)

    def _words(self, node: Node) -> Iterator[Word]:
        for child in node.children:
            is_word = child.is_named and child.type != "variable_assignment"
            if is_word and not child.type.endswith(("redirect", "comment")):
                word = child.children[0] if child.type == "command_name" else child
                yield read_word(word, self.source)

    def _command_assignments(self, node: Node, path: Path) -> Iterator[Assignment]:
        """Record the assignments before a command, and yield those for this command only."""
        name = node.child_by_field_name("name")
        for child in node.children:
            if child.type == "variable_assignment":
                # The grammar makes assignments on lines before a command a part of the command,
                # and the newline before `\rm` a part of the command's name.
                between = self.source.data[child.end_byte : name.start_byte] if name else b""
                between += b"\n" * (name is not None and self.source.raw(name).startswith("\n"))
                is_for_command = b"\n" not in between.replace(b"\\\n", b"")
                assignment = self._assignment(child, path, is_for_command=is_for_command)
                if is_for_command:
                    yield assignment

    def _strings(self, node: Node, command: Command) -> None:
        """Read the strings of a command that are scripts."""
        for string in script_strings(node, command):
            text, offsets = inner_text(string, self.source, self.script, command.place)
            if self.depth < LINT_NESTING:
                inner = Source(self.source.file, *with_braces(to_bytes(text), offsets))
                kind = "eval" if command.name == "eval" else "shell"
                path = (*command.path, Syntax(kind, command.offset))
                starter = starter_of(command)
                _TreeReader(self.script, inner, self.depth + 1, starter, path).read()

    def _declaration(self, node: Node, path: Path) -> None:
        is_local = node.children[0].type == "local"
        is_exported = node.children[0].type == "export" or any(
            re.fullmatch("-[a-zA-Z]*x[a-zA-Z]*", self.source.raw(child)) for child in node.children
        )
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                self._assignment(child, path, is_exported=is_exported, is_local=is_local)
            elif child.type == "variable_name" and is_exported:
                offset = self.source.offset(child.start_byte)
                self.script.flow.export(self.source.raw(child), offset)

    def _assignment(
        self,
        node: Node,
        path: Path,
        is_exported: bool = False,
        is_for_command: bool = False,
        is_local: bool = False,
    ) -> Assignment:
        target, value = node.child_by_field_name("name"), node.child_by_field_name("value")
        name = self.source.raw(target).partition("[")[0] if target else ""
        line, column = self.source.place(node)
        assignment = Assignment(
            name,
            read_word(value, self.source) if value else Word("", line, column),
            line,
            column,
            is_exported,
            is_for_command,
            any(child.type == "+=" for child in node.children),
            is_local,
            self.source.offset(node.start_byte),
            path,
            self.depth,
            self._items(value),
            "subscript" if target is not None and target.type == "subscript" else "",
        )
        self.script.assignments.append(assignment)
        self.script.flow.add(assignment)
        return assignment

    def _items(self, value: Node | None) -> tuple[Word, ...] | None:
        """The items of an array; None for any other value."""
        if value is None or value.type != "array":
            return None
        items = [child for child in value.children if child.is_named and child.type != "comment"]
        return tuple(read_word(child, self.source) for child in items)


def _is_tested(node: Node, index: int) -> bool:
    """Whether the shell looks at the status of a child of one of _TESTING."""
    if node.type in ("if_statement", "while_statement"):
        return all(each.type not in ("then", "do_group") for each in node.children[: index + 1])
    return node.type == "negated_command" or index == 0
