"""A comma in the value of a variable in -v ends the value.

qsub splits a directive at its quotes first, and removes them. Then it splits the list of -v at its
commas: the comma in `C="x,y"` ends the value.

Evidence: tried on OpenPBS: "cannot send environment with the job"; with quotes around all of
it, it works.

Cure: `#PBS -v 'A=b,C="x,y"'`.

Mend: --fix writes these quotes, if the value has no blanks and no other quotes.

Example:
- #PBS -v A=b,C="x,y"
+ #PBS -v 'A=b,C="x,y"'
  hostname
"""

from __future__ import annotations

import re

from jobgen.lint.rules import Edit, Findings, Script, finding_at, replacement

_QUOTED_COMMA = re.compile(r"-v\s*[^'\s]*=\"[^\"]*,")


def check(script: Script) -> Findings:
    for directive in script.active_directives:
        is_list = directive.scheduler == "pbs" and directive.option == "v"
        if is_list and _QUOTED_COMMA.search(script.lines[directive.line - 1]):
            text = "qsub removes the quotes before it splits the list: the comma ends the value"
            cure = "put single quotes around the whole value of -v"
            edits = _quoted(script.lines[directive.line - 1], directive.line)
            yield finding_at(directive, text, cure, edits)


def _quoted(line: str, number: int) -> list[Edit]:
    found = re.fullmatch(r"\s*#PBS\s+-v\s+([^\s'\\]+)\s*", line)
    return [replacement(number, found.start(1) + 1, found[1], f"'{found[1]}'")] if found else []
