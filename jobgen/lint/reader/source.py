"""Parses bash with tree-sitter (of the extra `lint`), and reads words from the syntax tree."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from jobgen.errors import problem
from jobgen.lint.reader.commands import LITERAL, Word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

EXPANSIONS = frozenset(("simple_expansion", "expansion"))
# The kinds of syntax that the shell replaces in a string, and in a word.
_REPLACED = EXPANSIONS | {"command_substitution", "arithmetic_expansion"}
_REPLACED_IN_WORD = _REPLACED | {"process_substitution"}
_VALUES = EXPANSIONS | {"arithmetic_expansion"}
# By the kind of text: the bytes before and after it, and the backslashes that take effect in it.
_QUOTES = {
    "string": (1, 1, re.compile(rb'\\([$`"\\\n])')),
    "raw_string": (1, 1, None),
    "ansi_c_string": (2, 1, None),
    "heredoc_body": (0, 0, re.compile(rb"\\([$`\\])")),
    "array": (0, 0, None),
}
_NO_QUOTES = (0, 0, re.compile(rb"(?s)\\(.)"))


class Source:
    """A script, or a quoted script inside a script.

    `offsets` has the offset in the file of each byte of `data`, and of the end of `data`.
    """

    def __init__(self, file: bytes, data: bytes, offsets: Sequence[int]) -> None:
        self.file = file
        self.data = data
        self.offsets = offsets
        self.is_ascii = file.isascii()
        self.line_starts = [0, *(found.end() for found in re.finditer(b"\n", file))]

    def offset(self, position: int) -> int:
        """The offset in the file of the byte of `data` at a position."""
        return self.offsets[min(position, len(self.offsets) - 1)]

    def place(self, node: Node) -> tuple[int, int]:
        """The line and column in the file at which a node begins."""
        offset = self.offset(node.start_byte)
        line = bisect_right(self.line_starts, offset)
        return line, self.column(line, offset)

    def column(self, line: int, offset: int) -> int:
        """The column of an offset in the file; `line` is the line of that offset."""
        start = self.line_starts[line - 1]
        if self.is_ascii:
            return offset - start + 1
        return len(self.file[start:offset].decode("utf-8", "replace")) + 1

    def raw(self, node: Node) -> str:
        """The text of a node, as written in the script."""
        return self.data[node.start_byte : node.end_byte].decode("utf-8", "replace")


_PLAIN = re.compile(rb"[\w./:=,+@%-]+")  # without quotes, escapes and expansions


def read_word(node: Node, source: Source) -> Word:
    """The record of a node that is a word."""
    if _PLAIN.fullmatch(source.data, node.start_byte, node.end_byte):  # most words
        text = source.raw(node)
        return Word(text, *source.place(node), raw=text, marked=text)
    parts = list(pieces(node, source.data))
    replaced = [each for each in parts if not isinstance(each, range)]
    places = (each if isinstance(each, range) else _written(each, source.data) for each in parts)
    texts = [source.data[each.start : each.stop] for each in places]
    text = marked = b"".join(texts).decode("utf-8", "replace")
    if text.count("$") > len(replaced):  # a $ is in the text, or in an expansion
        pairs = zip(parts, texts, strict=True)
        marks = (
            each.replace(b"$", LITERAL.encode()) if isinstance(part, range) else each
            for part, each in pairs
        )
        marked = b"".join(marks).decode("utf-8", "replace")
    return Word(
        text,
        *source.place(node),
        tuple(name for each in replaced for name in variables(each, source)),
        node.type == "array"
        or any(each.type not in _VALUES or "$(" in source.raw(each) for each in replaced),
        source.raw(node),
        marked,
    )


def pieces(node: Node, data: bytes) -> Iterator[range | Node]:
    """The pieces of a word or a heredoc: bytes that the shell keeps, and nodes that it replaces."""
    kind = node.type
    if kind == "concatenation":
        for child in node.children:
            yield from pieces(child, data)
    elif kind in _REPLACED_IN_WORD:
        yield node
    else:
        before, after, escaped = _QUOTES.get(kind, _NO_QUOTES)
        start = (node.start_byte if kind in _QUOTES else _written(node, data).start) + before
        for child in node.children if kind in ("string", "heredoc_body") else ():
            if child.type in _REPLACED:
                yield from _unescaped(data, start, _written(child, data).start, escaped)
                yield child
                start = child.end_byte
        yield from _unescaped(data, start, node.end_byte - after, escaped)


def _written(node: Node, data: bytes) -> range:
    """The place of a node, without the blanks at its beginning, which the grammar adds."""
    raw = data[node.start_byte : node.end_byte]
    return range(node.end_byte - len(raw.lstrip()), node.end_byte)


def _unescaped(
    data: bytes, start: int, end: int, escaped: re.Pattern[bytes] | None
) -> Iterator[range]:
    """The bytes between two positions, without the backslashes that escape a character."""
    for found in escaped.finditer(data, start, end) if escaped else ():
        yield range(start, found.start())
        if found[1] != b"\n":
            yield range(found.start(1), found.end())
        start = found.end()
    yield range(start, end)


def variables(node: Node, source: Source) -> tuple[str, ...]:
    """The variables of an expansion; nothing for a node of another type."""
    if node.type not in EXPANSIONS:
        return ()
    names = (child.children[0] if child.type == "subscript" else child for child in node.children)
    return tuple(source.raw(name) for name in names if name.type == "variable_name")


def to_bytes(text: str) -> bytes:
    """The bytes of a text for the parser; a byte that is not UTF-8 becomes three bytes."""
    return text.encode("utf-8", "surrogatepass")


# A value without quotes in which text comes between two variables, and after them.
_MISREAD = re.compile(rb"(?m)^[ \t]*\w+=[^\s\"'`$]*\$[^\s\"'`]*\$\w+[^\s\"'`\w]")
_VALUE = re.compile(rb"(?m)^[ \t]*\w+=[^\s\"'`]*")
_SIMPLE = re.compile(rb"\$([A-Za-z_]\w*)")


def with_braces(data: bytes, offsets: Sequence[int]) -> tuple[bytes, Sequence[int]]:
    """`A=${B}/${C}/d` for `A=$B/$C/d`, whose value the grammar ends at the second $."""
    if not _MISREAD.search(data):
        return data, offsets
    new, places, done = bytearray(), list[int](), 0
    for value in _VALUE.finditer(data):
        for found in _SIMPLE.finditer(data, *value.span()):
            start, end = found.span()
            new += data[done:start] + b"${" + found[1] + b"}"
            places += [*offsets[done : start + 1], *offsets[start:end], offsets[end - 1]]
            done = end
    return bytes(new + data[done:]), [*places, *offsets[done:]]


def parse_tree(data: bytes) -> Node:
    """The root of the syntax tree. Raises JobgenError if there is no parser.

    Syntax that the grammar would misread without an error is rewritten first. Only after an error,
    other syntax is rewritten too, and all is parsed again. All lengths, and so all places, stay.
    """
    # Writes `$(: A   && B)` for `$(((A)) && B)`, which the grammar misreads as arithmetic.
    data = re.sub(rb"\$\(\(\(([^()]*)\)\)(?=\s*(?:&&|\|\|))", rb"$(: \1  ", data)
    data = _HEREDOC.sub(_without_false_ends, data)
    root = _parser().parse(data).root_node
    if root.has_error:
        for pattern, filler in _UNPARSABLE:
            data = pattern.sub(partial(_filled, filler), data)
        root = _parser().parse(_COMMENT.sub(_quoted, data)).root_node
    return root


def first_error(node: Node) -> Node:
    """The first node that is an error."""
    for child in node.children:
        if child.has_error or child.is_missing:
            return child if child.type == "ERROR" else first_error(child)
    return node


@cache
def _parser() -> Parser:
    try:
        import tree_sitter
        import tree_sitter_bash
    except ImportError:
        text = "tree-sitter and tree-sitter-bash are not installed"
        raise problem("lint", text, "missing", "pip install tree-sitter tree-sitter-bash") from None
    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_bash.language()))


_HEREDOC_LINE = rb"^[^#\n]*<<-?\s*['\"\\]?\w+['\"]?"
# Syntax that bash can parse and the grammar (tree-sitter-bash 0.25) cannot. The filler replaces
# each byte of the group, so that every place stays; words are read from the script itself.
_UNPARSABLE = tuple(
    (re.compile(pattern, re.MULTILINE), filler)
    for pattern, filler in (
        (rb"(\\)\s*\Z", b" "),  # a backslash at the end of the script
        (rb"\$\{[\w@*!]+(?:\[[^]\n]*\])?:(\$)(?=\w)", b"1"),  # ${a[@]:$b:$c}
        (rb"\$\{\w+(?:\[[^]\n]*\])?[#%/]([^{}\n\[\]]*[\[\]][^{}\n]*)\}", b"x"),  # ${a%%[*}
        (rb"(?<!\w)(\d\d?#)(?=\$)", b" "),  # $((10#$a))
        (rb"\[\$\w+(,)\$\w+\]", b"x"),  # ${a[$b,$c]}
        (_HEREDOC_LINE + rb"[^\n|&]*?(\d?>&\d|\d>[ \t]*/dev/null)(?=[ \t]*[|&\n])", b" "),
        (_HEREDOC_LINE + rb"[^\n|&]*(&)[ \t]*$", b" "),
        (rb"(?<=[\s/])([?*+@!]\([^()\s]*\))", b"x"),  # !(a|b)
        (rb"(?<=\s)(\\[<>])(?=\s)", b"="),  # [ a \< b ]
        (rb"(?<=\[ )(!)(?=-\w)", b" "),  # [ !-d a ]
        (rb"=~[ \t]+(\S.*?)[ \t]+\]\]", b"x"),
        (rb"(\$)(?=[/,;:.%^~=+])", b"x"),  # sed s/a$//
    )
)
# A heredoc without a command, which serves as a comment of several lines.
_COMMENT = re.compile(rb"(?ms)^[ \t]*<<-?[ \t]*(['\"]?)(\w+)\1[ \t]*\n.*?\n[ \t]*\2[ \t]*$")
_HEREDOC = re.compile(
    rb"(?ms)(?<!<)<<-?[ \t]*['\"\\]?(\w+)['\"]?(?:[^\w<\n][^\n]*)?\n(.*?)^[ \t]*\1$"
)


def _filled(filler: bytes, found: re.Match[bytes]) -> bytes:
    """The text of a match, with the filler for each byte of its group."""
    start, end = found.start(1) - found.start(), found.end(1) - found.start()
    return found[0][:start] + filler * (end - start) + found[0][end:]


def _without_false_ends(found: re.Match[bytes]) -> bytes:
    """A heredoc without lines that begin with its end word: the grammar takes them for the end."""
    start, end = found.start(2) - found.start(), found.end(2) - found.start()
    line = re.compile(rb"^([ \t]*)" + found[1] + rb"(?=[^\n])", re.MULTILINE)
    body = line.sub(rb"\1" + b"x" * len(found[1]), found[2])
    return found[0][:start] + body + found[0][end:]


def _quoted(found: re.Match[bytes]) -> bytes:
    """A comment of several lines, rewritten as a string of the command `:`."""
    text = re.sub(rb"[^\n]", b"x", found[0])
    return b":'" + text[2:-1] + b"'"
