"""Walks the syntax tree of a script, and records its commands, variables, … in a Script."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

from jobgen.bounds import LINT_NESTING
from jobgen.lint.reader.commands import Assignment, Command, Word, base_name, starter_of
from jobgen.lint.reader.inner_scripts import inner_text, script_strings, submitted_scripts
from jobgen.lint.reader.script import Script
from jobgen.lint.reader.source import EXPANSIONS, Source, parse_tree, read_word, to_bytes, variables

if TYPE_CHECKING:
    from tree_sitter import Node

# Syntax whose commands the shell may skip, or run more than once.
_UNCERTAIN = frozenset(
    """
    if_statement while_statement for_statement c_style_for_statement case_statement list subshell
    function_definition command_substitution process_substitution elif_clause else_clause
    """.split()
)
# Nodes that have nothing to record; most nodes are of these kinds.
_LEAVES = frozenset(
    """
    word string_content variable_name special_variable_name file_descriptor heredoc_start
    heredoc_content heredoc_end regex test_operator
    """.split()
)
_NOTED = ("command", "declaration_command")  # recorded together with the assignments in them
# Commands that set the variables that they name.
_SETTERS = ("read", "mapfile", "readarray", "getopts", "printf", "let", "unset")


def read_tree(script: Script) -> None:
    """Record all parts of a script. Raises RecursionError if its syntax is nested too deep."""
    data = to_bytes(script.text)
    _TreeReader(script, Source(data, data, range(len(data) + 1))).read()


@dataclass
class _TreeReader:
    """Reads a script, or a quoted script inside a script, which the command `starter` runs."""

    script: Script
    source: Source
    depth: int = 0
    starter: str = ""

    def read(self) -> None:
        root = parse_tree(self.source.data)
        if root.has_error and self.depth == 0:
            self.script.parse_error = self.source.place(_first_error(root))
        self._walk(root, frozenset(), "")

    def _walk(self, node: Node, enclosing: frozenset[str], piped_into: str) -> None:
        """Record a node and its children; `enclosing` has the kinds of syntax around the node."""
        kind = node.type
        match kind:
            case "command":
                self._command(node, enclosing, piped_into)
            case "declaration_command":
                self._declaration(node, enclosing)
            case "variable_assignment":
                self._assignment(node, enclosing)
            case "simple_expansion" | "expansion":
                self._expansion(node)
            case "string" | "raw_string" | "heredoc_body":
                self._quoted(node)
            case "comment":
                comments = self.script.inner_comments if self.depth else self.script.comments
                comments.append(Word(self.source.raw(node), *self.source.place(node)))
            case "for_statement":
                if name := node.child_by_field_name("variable"):
                    self.script.dynamic_variables.add(self.source.raw(name))
            case "function_definition":
                self._function(node)
        first_command = len(self.script.commands)
        if kind in ("heredoc_body", "ERROR"):
            self._expansions(node)
        elif kind == "pipeline":
            self._pipeline(node, enclosing | {kind}, piped_into)
        else:
            inner = enclosing | {kind} if kind in _UNCERTAIN else enclosing
            self._children(node, inner, piped_into)
        if kind == "redirected_statement" and self.depth == 0:
            commands = self.script.commands[first_command:]
            found = submitted_scripts(node, commands, self.source, self.script)
            self.script.submitted_scripts.extend(found)

    def _children(self, node: Node, enclosing: frozenset[str], piped_into: str) -> None:
        children = node.children
        for index, child in enumerate(children, 1):
            if not child.is_named or child.type in _LEAVES:  # keywords such as `then` are unnamed
                continue
            if node.type in _NOTED and child.type == "variable_assignment":
                for value in child.named_children:
                    self._walk(value, enclosing, piped_into)
            elif index < len(children) and children[index].type == "&":
                self._walk(child, enclosing | {"background"}, piped_into)
            else:
                self._walk(child, enclosing, piped_into)

    def _pipeline(self, node: Node, enclosing: frozenset[str], piped_into: str) -> None:
        parts = [child for child in node.children if child.is_named]
        for part, following in pairwise(parts):
            name = re.match(r"\s*([\w./-]+)", self.source.raw(following))
            self._walk(part, enclosing, base_name(name[1]) if name else "?")
        for last in parts[-1:]:
            self._walk(last, enclosing, piped_into)

    def _quoted(self, node: Node) -> None:
        first, last = node.start_point.row + 1, node.end_point.row + 1
        if last > first and self.depth == 0:
            is_heredoc = node.type == "heredoc_body"
            self.script.quoted_lines.update(range(first if is_heredoc else first + 1, last + 1))

    def _function(self, node: Node) -> None:
        if name := node.child_by_field_name("name"):
            self.script.functions.add(self.source.raw(name))
            if self.depth == 0:
                place = self.source.raw(name), node.start_byte, node.end_byte
                self.script.function_ranges.append(place)

    def _expansions(self, node: Node) -> None:
        """Record the expansions in text that is not a command, such as a heredoc."""
        if node.type in EXPANSIONS:
            self._expansion(node)
        for child in node.children:
            self._expansions(child)

    def _expansion(self, node: Node) -> None:
        for name in variables(node, self.source)[:1]:
            self.script.variable_uses.append((name, self.source.place(node)[0]))
            if any(each.type.strip(":") == "=" for each in node.children):  # ${NAME:=value}
                self.script.dynamic_variables.add(name)

    def _command(self, node: Node, enclosing: frozenset[str], piped_into: str) -> None:
        command = Command(
            tuple(self._words(node)),
            *self.source.place(node),
            self.source.offset(node.start_byte),
            tuple(self._command_assignments(node, enclosing)),
            enclosing,
            piped_into,
            self.starter,
            self.depth,
        )
        self.script.commands.append(command)
        if command.name in _SETTERS:
            self.script.dynamic_variables.update(word.text for word in command.words[1:])
        self._strings(node, command)

    def _words(self, node: Node) -> Iterator[Word]:
        for child in node.children:
            is_word = child.is_named and child.type != "variable_assignment"
            if is_word and not child.type.endswith(("redirect", "comment")):
                word = child.children[0] if child.type == "command_name" else child
                yield read_word(word, self.source)

    def _command_assignments(self, node: Node, enclosing: frozenset[str]) -> Iterator[Assignment]:
        """Record the assignments before a command, and yield those for this command only."""
        name = node.child_by_field_name("name")
        for child in node.children:
            if child.type == "variable_assignment":
                # The grammar makes assignments on lines before a command a part of the command,
                # and the newline before `\rm` a part of the command's name.
                between = self.source.data[child.end_byte : name.start_byte] if name else b""
                between += b"\n" * (name is not None and self.source.raw(name).startswith("\n"))
                is_for_command = b"\n" not in between.replace(b"\\\n", b"")
                assignment = self._assignment(child, enclosing, is_for_command=is_for_command)
                if is_for_command:
                    yield assignment

    def _strings(self, node: Node, command: Command) -> None:
        """Read the strings of a command that are scripts."""
        for string in script_strings(node, command):
            text, offsets = inner_text(string, self.source, self.script)
            if self.depth < LINT_NESTING:
                inner = Source(self.source.file, to_bytes(text), offsets)
                _TreeReader(self.script, inner, self.depth + 1, starter_of(command)).read()

    def _declaration(self, node: Node, enclosing: frozenset[str]) -> None:
        is_exported = node.children[0].type == "export" or any(
            re.fullmatch("-[a-zA-Z]*x[a-zA-Z]*", self.source.raw(child)) for child in node.children
        )
        for child in node.children[1:]:
            if child.type == "variable_assignment":
                self._assignment(child, enclosing, is_exported=is_exported)
            elif child.type == "variable_name" and is_exported:
                self.script.exports.add(self.source.raw(child))

    def _assignment(
        self,
        node: Node,
        enclosing: frozenset[str],
        is_exported: bool = False,
        is_for_command: bool = False,
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
            not enclosing & _UNCERTAIN,
            any(child.type == "+=" for child in node.children),
            self.source.offset(node.start_byte),
            self.depth,
            self._items(value),
        )
        if target is not None and target.type == "subscript":
            self.script.dynamic_variables.add(name)
        if is_exported:
            self.script.exports.add(name)
        self.script.assignments.append(assignment)
        return assignment

    def _items(self, value: Node | None) -> tuple[Word, ...] | None:
        """The items of an array; None for any other value."""
        if value is None or value.type != "array":
            return None
        items = [child for child in value.children if child.is_named and child.type != "comment"]
        return tuple(read_word(child, self.source) for child in items)


def _first_error(node: Node) -> Node:
    """The first node that is an error."""
    for child in node.children:
        if child.has_error or child.is_missing:
            return child if child.type == "ERROR" else _first_error(child)
    return node
