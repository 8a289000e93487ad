"""A comma in the value of a variable in -v ends the value."""

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
