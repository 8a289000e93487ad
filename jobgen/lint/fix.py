"""Mends findings that have exactly one right mend, for `jobgen lint --fix`; no command changes.

The rules make the edits. This module applies them repeatedly until no edit is left. It keeps the
new text only if the commands in it are the same as before, and no rule has more findings in it.
"""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from jobgen.errors import Edit, Problem, problem
from jobgen.lint.files import read_file
from jobgen.lint.reader.directives import is_code
from jobgen.lint.reader.parse import parse
from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding
from jobgen.paths import is_outside, repository, to_path
from jobgen.scripts.write import rewrite

PASSES = 20  # over a file, at most: a fix may reveal a finding that another mistake has hidden
_BYTE_ORDER_MARK = "\ufeff"
# A word of a command or of a directive.
_WORD = re.compile(r"""(?:"[^"]*"?|'[^']*'?|\\.|[^\s"'\\;|&])*""")


class Mended(NamedTuple):
    """A file with its bytes before and after.

    `findings` are the mended ones, with their places in the old text. `refused` maps the code of
    each rule whose edits were not applied to the reason.
    """

    path: str
    data: bytes
    new_data: bytes
    findings: Sequence[Problem] = ()
    refused: Mapping[str, str] = MappingProxyType({})


Search = Callable[[str], list[Problem]]  # returns what the chosen rules find in a text


def mended(path: str, data: bytes, search: Search) -> Mended:
    """The mended file. If all edits together are refused, each rule's edits are tried alone."""
    search = cache(search)  # the same text is searched several times below
    text = data.decode("utf-8", "surrogateescape")
    before = [each for each in search(text) if each.edits]
    new = _edited(text, search)
    refused = {}
    if _objection(text, new, search):
        new = text
        for code in sorted({each.code for each in before}):
            changed = _edited(new, search, code)
            if reason := _objection(new, changed, search):
                refused[code] = reason
            else:
                new = changed
    still_found = {(each.code, each.text) for each in search(new)}
    gone = [each for each in before if (each.code, each.text) not in still_found]
    return Mended(path, data, new.encode("utf-8", "surrogateescape"), gone, refused)


def _edited(text: str, search: Search, code: str = "") -> str:
    """The text after all edits (or all of one rule), also those that other edits make possible."""
    for _ in range(PASSES):
        problems = [each for each in search(text) if each.edits and code in ("", each.code)]
        if not problems:
            break
        text = applied(text, problems)
    return text


def applied(text: str, problems: Iterable[Problem]) -> str:
    """The text after the edits of problems; a problem on an already edited line is left out."""
    has_mark = text.startswith(_BYTE_ORDER_MARK)
    starts = [int(has_mark), *(found.end() for found in re.finditer("\n", text))]
    taken: set[int] = set()  # lines with edits
    spans = []
    for edits in (each.edits for each in problems):
        lines = {line for edit in edits for line in _lines(edit)}
        if taken.isdisjoint(lines):
            taken |= lines
            for line, column, end_line, end_column, new in edits:
                start, end = starts[line - 1] + column - 1, starts[end_line - 1] + end_column - 1
                spans.append((start, end, new))
    pieces, position = [], 0
    for start, end, new in sorted(spans):
        pieces += [text[position:start], new]
        position = end
    return "".join(pieces) + text[position:]


def _lines(edit: Edit) -> range:
    """The lines that an edit touches."""
    last = edit.end_line - (edit.end_column == 1)
    return range(edit.line, max(edit.line, last) + 1)


def _objection(text: str, new: str, search: Search) -> str:
    """Why a new text is refused: a rule has more findings in it, or its commands differ."""
    before, after = (Counter(each.code for each in search(each)) for each in (text, new))
    if more := sorted(after - before):
        return f"its mend would make another finding, {', '.join(more)}"
    return "" if _code(text) == _code(new) else "its mend would change a command"


def _code(text: str) -> object:
    """All that bash runs: the commands, and all lines except comments."""
    script = parse(text.replace("\r\n", "\n"), "")
    lines = [
        line
        for number, line in enumerate(script.lines, 1)
        if number in script.quoted_lines or is_code(line)
    ]
    words = [[word.text for word in command.words] for command in script.commands]
    return bool(script.parse_error), words, lines


def write_mended(mended: Mended) -> None:
    """Write a mended file atomically. If this raises JobgenError, the file has not changed."""
    path = to_path(mended.path)
    real = os.path.realpath(path)
    if read_file(mended.path) != mended.data:
        text = "it has changed since it was read"
        raise problem(mended.path, text, "edited", "lint it again")
    within = repository(Path(os.path.abspath(path)).parent)
    if within and is_outside(Path(real), within):  # somebody may have put a link there just now
        text = f"a link out of {within}, behind which nothing is written"
        raise problem(mended.path, text, "outside", "mend the file itself")
    if not os.stat(real).st_mode & 0o222:
        raise problem(mended.path, "it is read-only", "output", "chmod u+w, or mend a copy")
    rewrite(path, real, mended.new_data)


def end_of(script: Script, finding: Finding) -> tuple[int, int]:
    """The line and column after the text that a finding is about."""
    line, start = finding.line, finding.column - 1
    parts = finding.raw.split("\n")
    lines = script.lines[line - 1 : line - 1 + len(parts)]
    if finding.raw and "\n".join(lines).startswith(finding.raw, start):
        is_one_line = len(parts) == 1
        return line + len(parts) - 1, start * is_one_line + len(parts[-1]) + 1
    word = _WORD.match(script.lines[line - 1], start)
    return line, finding.column + (len(word[0]) if word else 0)
