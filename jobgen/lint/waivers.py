"""The comments by which a script's author keeps rules from a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jobgen.lint.script import Script, Word


class Waiver(NamedTuple):
    """`# jobgen: ignore=CODES reason`: for the line `of`; without `codes` it is not so written.

    `said` is all that follows `ignore`.
    """

    line: int
    column: int
    of: int
    codes: tuple[str, ...]
    reason: str
    said: str


_SAID = re.compile(r"#\s*jobgen:\s*ignore\b[ \t]*(.*)")
_CODES = re.compile(r"=([A-Z0-9]+(?:,[A-Z0-9]+)*)(?:[ \t]+([^,\s].*))?")


def waivers(script: Script) -> Iterator[Waiver]:
    """Those of a script. One on a line of its own is for the next line that is no such comment."""
    for comment in _comments(script):
        if not (found := _SAID.search(comment.text)):
            continue
        of, before = comment.line, script.lines[comment.line - 1][: comment.column - 1]
        if not (before + comment.text[: found.start()]).strip():
            while of < len(script.lines) and _SAID.match(script.lines[of].lstrip()):
                of += 1
            of += 1
        said = found[1].strip()
        told = _CODES.fullmatch(said)
        codes = tuple(told[1].split(",")) if told else ()
        reason = (told[2] or "") if told else ""
        yield Waiver(comment.line, comment.column + found.start(), of, codes, reason, said)


def _comments(script: Script) -> list[Word]:
    """The comments of a script; where it is not read to its end, all that may be some."""
    if script.broken or script.foreign:
        return [Word(line, number, 1) for number, line in enumerate(script.lines, 1)]
    return sorted(script.comments + script.inner_comments, key=lambda each: each.line)
