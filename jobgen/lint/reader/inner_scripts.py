"""The scripts inside a script: strings for another shell, and heredocs for sbatch or qsub."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import accumulate
from typing import TYPE_CHECKING

from jobgen.lint.reader.commands import OUTER, SHELLS, Command, Place, base_name
from jobgen.lint.reader.directives import Directive, command_options
from jobgen.lint.reader.script import Script, SubmittedScript
from jobgen.lint.reader.source import Source, pieces, to_bytes

if TYPE_CHECKING:
    from tree_sitter import Node

_STRINGS = ("raw_string", "string", "concatenation")
# Values that keep the lines and the quotes of a heredoc as they are.
_PLAIN_VALUE = re.compile(rf"[\w./:,=@% +{OUTER}-]*")
# A line of only outer expansions: their values may be empty, a directive, or a command.
_OUTER_LINE = re.compile(rf"^[ \t]*({OUTER}\w*[ \t]*)+$", re.MULTILINE)


def script_strings(node: Node, command: Command) -> Iterator[Node]:
    """The strings of a command that are scripts: in `bash -c STRING`, `ssh HOST STRING`, `eval`."""
    children = [
        child for child in node.children if child.is_named and child.type != "variable_assignment"
    ]
    words = command.words
    for index, child in enumerate(children[: len(words)]):
        follows_shell = (
            index > 1
            and re.fullmatch("-[a-z]*c", words[index - 1].text)
            and any(base_name(word.text) in SHELLS for word in words[: index - 1])
        )
        is_last = command.name in ("ssh", "eval") and index == len(words) - 1 > 0
        if (follows_shell or is_last) and child.type in _STRINGS:
            yield child


def submitted_scripts(
    node: Node, commands: Iterable[Command], source: Source, script: Script
) -> Iterator[SubmittedScript]:
    """The scripts in `sbatch <<EOF` and `cat <<EOF | sbatch`; `commands` are those in `node`."""
    for redirect in node.children:
        parts = {child.type: child for child in redirect.children}
        if redirect.type != "heredoc_redirect" or "heredoc_body" not in parts:
            continue
        pipeline = parts["pipeline"].children if "pipeline" in parts else []
        offsets = {source.offset(child.start_byte) for child in [*node.children, *pipeline]}
        for command in commands:
            if command.name in ("sbatch", "qsub") and command.offset in offsets:
                options = [_placed(each, command) for each in command_options(command)]
                is_quoted = re.search(r"""['"\\]""", source.raw(parts["heredoc_start"]))
                body = parts["heredoc_body"]
                text, places = inner_text(body, source, script, command.place, bool(is_quoted))
                first_line = body.start_point.row + 1
                lines, column = _placed_lines(text, places, source, first_line, "<<-" in parts)
                inner = "\n" * (first_line - 1) + "\n".join(lines)
                yield SubmittedScript(inner, first_line, options, column)


def _placed(option: Directive, command: Command) -> Directive:
    """An option at the place of its command; each variable in it becomes an unknown value."""
    value = re.sub(r"\$(\{.*?\}|\(.*?\)|\w+)", OUTER, option.value)
    return replace(option, value=value, line=command.line, column=command.column)


def _placed_lines(
    text: str, offsets: list[int], source: Source, first_line: int, removes_tabs: bool
) -> tuple[list[str], Callable[[int, int], int]]:
    """The lines of a heredoc, and a function from a place in them to the column in the file."""
    lines = _OUTER_LINE.sub(lambda found: " " * len(found[0].encode()), text).split("\n")
    tabs = [len(line) - len(line.lstrip("\t")) if removes_tabs else 0 for line in lines]
    starts = list(accumulate((len(to_bytes(line)) + 1 for line in lines), initial=0))

    def column(line: int, own_column: int) -> int:
        index = line - first_line
        if not 0 <= index < len(lines):
            return own_column
        before = to_bytes(lines[index][: tabs[index] + own_column - 1])
        return source.column(line, offsets[starts[index] + len(before)])

    return [line[count:] for line, count in zip(lines, tabs, strict=True)], column


def inner_text(
    node: Node, source: Source, script: Script, at: Place, is_quoted: bool = False
) -> tuple[str, list[int]]:
    """The text of a string as the inner shell gets it, and the offset in the file of each byte.

    `at` is the place of the command that has the string. A heredoc keeps its lines; in a quoted
    heredoc, the outer shell expands nothing.
    """
    data, offsets = bytearray(), list[int]()
    whole = [range(node.start_byte, node.end_byte)]
    for piece in whole if is_quoted else pieces(node, source.data):
        if isinstance(piece, range):
            data += source.data[piece.start : piece.stop]
            offsets += map(source.offset, piece)
        else:
            is_heredoc = node.type == "heredoc_body"
            value = _value(piece, source, script, at, is_heredoc)
            newlines = source.raw(piece).strip().count("\n") * is_heredoc
            data += value + b"\n" * newlines
            offsets += [source.offset(piece.start_byte)] * len(value)
            offsets += [source.offset(piece.end_byte)] * newlines
    offsets.append(source.offset(node.end_byte))
    return data.decode("utf-8", "surrogatepass"), offsets


def _value(node: Node, source: Source, script: Script, at: Place, is_heredoc: bool) -> bytes:
    """The value of an expansion; OUTER and the expansion's letters if the value is not known."""
    raw = source.raw(node).strip()
    value = script.flow.for_inner_shell(raw, at)
    if value and (not is_heredoc or _PLAIN_VALUE.fullmatch(value)):
        return to_bytes(value)
    return OUTER.encode() + re.sub(rb"\W", b"", to_bytes(raw))[:60]
