"""Comments with which a script's author turns rules off for a line, and the rule about them."""

import re
from collections.abc import Iterator, Set
from typing import NamedTuple

from jobgen.lint.reader.directives import is_code
from jobgen.lint.rules import Findings, Script, Word, checks, finding_at


class IgnoreComment(NamedTuple):
    """`# jobgen: ignore=CODES reason`, for the lines `ignored_lines`.

    `codes` is empty if the comment does not have this form. `text` is all that follows `ignore`.
    """

    place: Word
    ignored_lines: tuple[int, ...]
    codes: tuple[str, ...]
    reason: str
    text: str


_IGNORE = re.compile(r"#\s*jobgen:\s*ignore\b[ \t]*(.*)")
_CODES = re.compile(r"=([A-Z0-9]+(?:,[A-Z0-9]+)*)(?:[ \t]+([^,\s].*))?")


def ignore_comments(script: Script) -> Iterator[IgnoreComment]:
    """The ignore comments of a script."""
    comments = sorted(script.comments + script.inner_comments, key=lambda comment: comment.line)
    if script.parse_error or script.is_other_language:  # the parser has not read all of the script
        comments = [Word(line, number, 1) for number, line in enumerate(script.lines, 1)]
    for comment in comments:
        if found := _IGNORE.search(comment.text):
            text = found[1].strip()
            written = _CODES.fullmatch(text)
            codes = tuple(written[1].split(",")) if written else ()
            reason = (written[2] or "") if written else ""
            place = Word("", comment.line, comment.column + found.start())
            lines = _ignored_lines(script, comment, found.start())
            yield IgnoreComment(place, lines, codes, reason, text)


def _ignored_lines(script: Script, comment: Word, start: int) -> tuple[int, ...]:
    """The comment's line; if nothing else is on it, the next line that is no ignore comment.

    Above all commands also the script's first line, at which no comment can stand.
    """
    line = comment.line
    before = script.lines[line - 1][: comment.column - 1] + comment.text[:start]
    if before.strip():
        return (line,)
    is_above = not any(map(is_code, script.lines[:line]))
    while line < len(script.lines) and _IGNORE.match(script.lines[line].lstrip()):
        line += 1
    return (line + 1, script.first_line) if is_above else (line + 1,)


def jg002_ignore_comment(script: Script) -> Findings:
    all_codes = checks()
    for comment in ignore_comments(script):
        if unknown := [code for code in comment.codes if code not in all_codes]:
            yield finding_at(
                comment.place, f"there is no rule {unknown[0]:.20}", "see `jobgen rules`"
            )
        elif not comment.reason:
            written = comment.codes or re.findall(r"JG[0-9]{3}", comment.text.upper())
            reason = "it has no reason" if comment.codes else "it names no rule"
            if written and not comment.codes:
                reason = "write codes in capitals, with commas and no blanks between them"
            cure = f"# jobgen: ignore={','.join(written or ['CODE'])} reason"
            yield finding_at(comment.place, f"the ignore comment is not valid: {reason}", cure)


def unused_comments(script: Script, searched: Set[str], places: Set[tuple[int, str]]) -> Findings:
    """A finding for each ignore comment that suppresses no finding of the rules in `searched`.

    `places` has the lines and codes of all findings.
    """
    for comment in ignore_comments(script):
        lines = comment.ignored_lines
        found = {code for line, code in places if line in lines}
        idle = [code for code in comment.codes if code in searched - found]
        if comment.reason and idle:
            text = f"line {lines[0]} has no {', '.join(idle)}"
            text = f"the ignore comment suppresses nothing: {text}"
            yield finding_at(comment.place, text, "remove it, or put it on the line of the finding")
