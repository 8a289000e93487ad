"""The scripts inside a script: strings for another shell, and heredocs for sbatch or qsub."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate
from typing import TYPE_CHECKING

from jobgen.lint.reader.commands import OUTER, SHELLS, Command, base_name
from jobgen.lint.reader.directives import command_line_directives
from jobgen.lint.reader.script import Script, SubmittedScript
from jobgen.lint.reader.source import REPLACED, Source, to_bytes

if TYPE_CHECKING:
    from tree_sitter import Node

_STRINGS = ("raw_string", "string", "concatenation")
# Values that mean the same to the inner shell as a plain word.
_PLAIN_VALUE = re.compile(r"[\w./:,=@% +-]*")
# A line of expansions of the outer shell: they may be nothing, a directive, or a command.
_OUTER_LINE = re.compile(rf"^[ \t]*({OUTER}\w*[ \t]*)+$", re.MULTILINE)


def script_strings(node: Node, command: Command) -> Iterator[Node]:
    """The strings of a command that are scripts: of `bash -c STRING`, `ssh HOST STRING`, `eval`."""
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


def submitted_scripts(node: Node, source: Source, script: Script) -> Iterator[SubmittedScript]:
    """The scripts in `sbatch <<EOF` and `cat <<EOF | sbatch`; `node` has the redirections."""
    for redirect in node.children:
        parts = {child.type: child for child in redirect.children}
        if redirect.type != "heredoc_redirect" or "heredoc_body" not in parts:
            continue
        pipeline = parts["pipeline"].children if "pipeline" in parts else []
        for command in [*node.children, *pipeline]:
            is_command = command.type == "command"
            words = [source.raw(word) for word in command.children] if is_command else []
            if words and base_name(words[0]) in ("sbatch", "qsub"):
                options = command_line_directives(words, *source.place(command))
                body = parts["heredoc_body"]
                is_quoted = re.search(r"""['"\\]""", source.raw(parts["heredoc_start"]))
                text, offsets = inner_text(body, source, script, bool(is_quoted))
                first_line = body.start_point.row + 1
                lines, column = _placed_lines(text, offsets, source, first_line, "<<-" in parts)
                inner = "\n" * (first_line - 1) + "\n".join(lines)
                yield SubmittedScript(inner, first_line, options, column)


def _placed_lines(
    text: str, offsets: list[int], source: Source, first_line: int, removes_tabs: bool
) -> tuple[list[str], Callable[[int, int], int]]:
    """The lines of a heredoc, and what finds the column in the file of a place in them."""
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
    node: Node, source: Source, script: Script, is_quoted: bool = False
) -> tuple[str, list[int]]:
    """The text of a string as the inner shell gets it, and the offset of each of its bytes.

    A heredoc keeps its lines; in one that is quoted, the outer shell expands nothing.
    """
    data, offsets = bytearray(), list[int]()
    start, end = node.start_byte, node.end_byte
    as_written = [(source.data[start:end], range(start, end))]
    for piece, places in as_written if is_quoted else _pieces(node, source, script):
        data += piece
        offsets += map(source.offset, places)
    offsets.append(source.offset(node.end_byte))
    return data.decode("utf-8", "surrogatepass"), offsets


_Piece = tuple[bytes, Iterable[int]]  # what the outer shell passes on, and where each byte is


def _pieces(node: Node, source: Source, script: Script) -> Iterator[_Piece]:
    quote = int(node.type in ("string", "raw_string"))
    start, end = node.start_byte + quote, node.end_byte - quote
    if node.type == "concatenation":
        for child in node.children:
            yield from _pieces(child, source, script)
    elif node.type in ("string", "heredoc_body"):
        position = start
        for child in node.children:
            if child.type in REPLACED:
                yield from _unescaped(source.data, position, child.start_byte, quote)
                yield from _value(child, source, script)
                if not quote:
                    newlines = source.raw(child).strip().count("\n")
                    yield b"\n" * newlines, [child.end_byte] * newlines
                position = child.end_byte
        yield from _unescaped(source.data, position, end, quote)
    else:
        yield source.data[start:end], range(start, end)


def _value(node: Node, source: Source, script: Script) -> Iterator[_Piece]:
    """The value of an expansion; if it is not known, what stands for such a value."""
    start, raw = node.start_byte, source.data[node.start_byte : node.end_byte]
    value = script.resolved(source.raw(node).strip(), source.offset(start))
    is_known = _PLAIN_VALUE.fullmatch(value)
    blanks = raw[: len(raw) - len(raw.lstrip())]
    yield blanks, range(start, start + len(blanks))
    data = value.encode() if is_known else OUTER.encode() + re.sub(rb"\W", b"", raw)[:60]
    yield data, [start] * len(data)


def _unescaped(data: bytes, start: int, end: int, is_quoted: int) -> Iterator[_Piece]:
    """The bytes between two positions without the backslashes that take effect there."""
    escaped = rb'\\([$`"\\\n])' if is_quoted else rb"\\([$`\\])"
    for found in re.compile(escaped).finditer(data, start, end):
        yield data[start : found.start()], range(start, found.start())
        if found[1] != b"\n":
            yield found[1], [found.start(1)]
        start = found.end()
    yield data[start:end], range(start, end)
