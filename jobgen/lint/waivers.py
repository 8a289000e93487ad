"""The comments by which a script's author keeps rules from a line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from jobgen.lint.script import Script


class Waiver(NamedTuple):
    """`# jobgen: ignore=CODES reason`: for the line `of`."""

    line: int
    column: int
    of: int
    codes: tuple[str, ...]
    reason: str


_SAID = re.compile(r"#\s*jobgen:\s*ignore=([A-Za-z0-9,]*)[ \t]*(.*)")


def waivers(script: Script) -> Iterator[Waiver]:
    """Those of a script. One on a line of its own is for the next line that is no such comment."""
    for number, line in enumerate(script.lines, 1):
        if not (found := _SAID.search(line)):
            continue
        of = number
        if not line[: found.start()].strip():
            while of < len(script.lines) and _SAID.match(script.lines[of].lstrip()):
                of += 1
            of += 1
        codes = tuple(code for code in found[1].upper().split(",") if code)
        yield Waiver(number, found.start() + 1, of, codes or ("",), found[2].strip())
