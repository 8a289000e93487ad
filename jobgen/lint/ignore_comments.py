"""The comments with which the author of a script turns rules off for a line."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from jobgen.lint.reader.commands import Word
from jobgen.lint.reader.script import Script


class IgnoreComment(NamedTuple):
    """`# jobgen: ignore=CODES reason`, for the line `ignored_line`.

    `codes` is empty if the comment does not have this form. `text` is all that follows `ignore`.
    """

    line: int
    column: int
    ignored_line: int
    codes: tuple[str, ...]
    reason: str
    text: str


_IGNORE = re.compile(r"#\s*jobgen:\s*ignore\b[ \t]*(.*)")
_CODES = re.compile(r"=([A-Z0-9]+(?:,[A-Z0-9]+)*)(?:[ \t]+([^,\s].*))?")


def ignore_comments(script: Script) -> Iterator[IgnoreComment]:
    """The ignore comments of a script."""
    comments = sorted(script.comments + script.inner_comments, key=lambda comment: comment.line)
    if script.parse_error or script.is_other_language:  # then it is not read to its end
        comments = [Word(line, number, 1) for number, line in enumerate(script.lines, 1)]
    for comment in comments:
        if found := _IGNORE.search(comment.text):
            text = found[1].strip()
            written = _CODES.fullmatch(text)
            codes = tuple(written[1].split(",")) if written else ()
            reason = (written[2] or "") if written else ""
            column = comment.column + found.start()
            line = _ignored_line(script, comment, found.start())
            yield IgnoreComment(comment.line, column, line, codes, reason, text)


def _ignored_line(script: Script, comment: Word, start: int) -> int:
    """The comment's line or, if nothing else is there, the next that is not an ignore comment."""
    line = comment.line
    before = script.lines[line - 1][: comment.column - 1] + comment.text[:start]
    if before.strip():
        return line
    while line < len(script.lines) and _IGNORE.match(script.lines[line].lstrip()):
        line += 1
    return line + 1
