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

import re

from jobgen.lint.rules import Findings, Script, finding_at, replacement

_QUOTED_COMMA = re.compile(r"-v\s*[^'\s]*=\"[^\"]*,")


def check(script: Script) -> Findings:
    for directive in script.active_directives:
        line, number = script.lines[directive.line - 1], directive.line
        is_list = directive.scheduler == "pbs" and directive.option == "v"
        if is_list and _QUOTED_COMMA.search(line):
            text = "qsub removes the quotes before it splits the list: the comma ends the value"
            cure = "put single quotes around the whole value of -v"
            plain = re.fullmatch(r"\s*#PBS\s+-v\s+([^\s'\\]+)\s*", line)
            quoted = f"'{plain[1]}'" if plain else ""
            edits = [replacement(number, plain.start(1) + 1, plain[1], quoted)] if plain else []
            yield finding_at(directive, text, cure, edits)
