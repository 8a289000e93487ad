"""The parser of bash (tree-sitter, of the extra `lint`), the bytes it gets, and their words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from jobgen.errors import problem
from jobgen.lint.reader.commands import Word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

EXPANSIONS = frozenset(("simple_expansion", "expansion"))
# The kinds of syntax that the shell replaces in a string.
REPLACED = EXPANSIONS | {"command_substitution", "arithmetic_expansion"}
_REPLACED_IN_WORD = REPLACED | {"process_substitution"}
_VALUES = EXPANSIONS | {"arithmetic_expansion"}


class Source:
    """A script, or a string in it that is a script itself.

    `offsets` has the offset in the file of each byte of such a string, and of its end.
    """

    def __init__(self, file: bytes, text: str, offsets: Sequence[int] | None = None) -> None:
        self.file = file
        self.text = text
        self.data = to_bytes(text)
        self.offsets = offsets
        # Where each character is one byte, no text is decoded for a place or a word.
        self.is_file_ascii, self.is_text_ascii = file.isascii(), text.isascii()
        self.line_starts = [0, *(found.end() for found in re.finditer(b"\n", file))]

    def offset(self, position: int) -> int:
        """The offset in the file of a byte."""
        if self.offsets is None:
            return position
        return self.offsets[min(position, len(self.offsets) - 1)]

    def place(self, node: Node) -> tuple[int, int]:
        """The line and column in the file at which a node begins."""
        offset = self.offset(node.start_byte)
        line = bisect_right(self.line_starts, offset)
        return line, self.column(line, offset)

    def column(self, line: int, offset: int) -> int:
        """The column of an offset in the file that is on a line."""
        if self.is_file_ascii:
            return offset - self.line_starts[line - 1] + 1
        before = self.file[self.line_starts[line - 1] : offset]
        return len(before.decode("utf-8", "replace")) + 1

    def raw(self, node: Node) -> str:
        """The text of a node, as it is written."""
        return self.between(node.start_byte, node.end_byte)

    def between(self, start: int, end: int) -> str:
        """The text between two bytes."""
        if self.is_text_ascii:
            return self.text[start:end]
        return self.data[start:end].decode("utf-8", "replace")


def read_word(node: Node, source: Source) -> Word:
    """The word that a node is."""
    replaced = list(_replaced(node))
    return Word(
        _text(node, source),
        *source.place(node),
        tuple(name for each in replaced for name in _variables(each, source)),
        any(each.type not in _VALUES or "$(" in source.raw(each) for each in replaced),
        source.raw(node),
    )


def _text(node: Node, source: Source) -> str:
    kind, raw = node.type, source.raw(node)
    if kind == "raw_string":
        return raw[1:-1]
    if kind == "ansi_c_string":
        return raw[2:-1]
    if kind == "array":
        return raw
    if kind == "string":
        return _string_text(node, source)
    if kind == "concatenation":
        return "".join(_text(child, source) for child in node.children)
    # The grammar takes blanks before a word for a part of it.
    raw = raw.lstrip()
    is_plain = kind in _REPLACED_IN_WORD or "\\" not in raw
    return raw if is_plain else re.sub(r"\\(\n|.)", _unquoted, raw)


def _string_text(node: Node, source: Source) -> str:
    """What is between double quotes."""
    pieces, position = [], node.start_byte + 1
    for child in node.children:
        if child.type in REPLACED:
            pieces += [_unescaped(source.between(position, child.start_byte)), source.raw(child)]
            position = child.end_byte
    pieces.append(_unescaped(source.between(position, max(position, node.end_byte - 1))))
    return "".join(pieces)


def _replaced(node: Node) -> Iterator[Node]:
    """The parts of a word that the shell replaces."""
    if node.type in _REPLACED_IN_WORD or node.type == "array":
        yield node
    elif node.type in ("string", "concatenation"):
        for child in node.children:
            yield from _replaced(child)


def _variables(node: Node, source: Source) -> tuple[str, ...]:
    """The variables of an expansion, and of nothing else."""
    if node.type not in EXPANSIONS:
        return ()
    names = (child.children[0] if child.type == "subscript" else child for child in node.children)
    return tuple(source.raw(name) for name in names if name.type == "variable_name")


def _unescaped(text: str) -> str:
    return re.sub(r'\\([$`"\\\n])', _unquoted, text) if "\\" in text else text


def _unquoted(found: re.Match[str]) -> str:
    """What a backslash stands for, with the character after it."""
    return found[1].strip("\n")


def to_bytes(text: str) -> bytes:
    """A text as the parser gets it; a byte that is not UTF-8 becomes three bytes."""
    return text.encode("utf-8", "surrogatepass")


def parse_tree(data: bytes) -> Node:
    """The root of the syntax tree. Raises JobgenError if there is no parser.

    Only what the grammar cannot parse is rewritten, and parsed again. What it would take for
    something else, without an error, is rewritten first. The length stays, and so every place.
    """
    # `$(: A   && B)` for `$(((A)) && B)`, which the grammar takes for arithmetic.
    data = re.sub(rb"\$\(\(\(([^()]*)\)\)(?=\s*(?:&&|\|\|))", rb"$(: \1  ", data)
    data = _HEREDOC.sub(_without_false_ends, data)
    root = _parser().parse(data).root_node
    if root.has_error:
        for pattern, filler in _UNPARSABLE:
            data = pattern.sub(partial(_filled, filler), data)
        root = _parser().parse(_COMMENT.sub(_quoted, data)).root_node
    return root


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
# What bash parses and the grammar (tree-sitter-bash 0.25) does not. The bytes of the group are
# replaced by the filler, one by one: every place stays, and the words are read from the script.
_UNPARSABLE = tuple(
    (re.compile(pattern, re.MULTILINE), filler)
    for pattern, filler in (
        (rb"(\\)\s*\Z", b" "),  # at the end of the script
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
# A heredoc without a command, which makes a comment of several lines.
_COMMENT = re.compile(rb"(?ms)^[ \t]*<<-?[ \t]*(['\"]?)(\w+)\1[ \t]*\n.*?\n[ \t]*\2[ \t]*$")
_HEREDOC = re.compile(
    rb"(?ms)(?<!<)<<-?[ \t]*['\"\\]?(\w+)['\"]?(?:[^\w<\n][^\n]*)?\n(.*?)^[ \t]*\1$"
)


def _filled(filler: bytes, found: re.Match[bytes]) -> bytes:
    """A match whose group consists of the filler."""
    start, end = found.start(1) - found.start(), found.end(1) - found.start()
    return found[0][:start] + filler * (end - start) + found[0][end:]


def _without_false_ends(found: re.Match[bytes]) -> bytes:
    """A heredoc without lines that only begin with its end, which the grammar takes for it."""
    start, end = found.start(2) - found.start(), found.end(2) - found.start()
    line = re.compile(rb"^([ \t]*)" + found[1] + rb"(?=[^\n])", re.MULTILINE)
    body = line.sub(rb"\1" + b"x" * len(found[1]), found[2])
    return found[0][:start] + body + found[0][end:]


def _quoted(found: re.Match[bytes]) -> bytes:
    """A comment of several lines as a string of the command `:`."""
    text = re.sub(rb"[^\n]", b"x", found[0])
    return b":'" + text[2:-1] + b"'"
