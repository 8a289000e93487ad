"""A short option has a `=` before its value."""

import re

from jobgen.lint.reader.sbatch_options import SHORT_WITH_VALUE
from jobgen.lint.rules import Findings, Script, finding_at, replacement


def check(script: Script) -> Findings:
    for directive in script.active_directives:
        if not re.match("-[A-Za-z]=", directive.raw):
            continue
        flag, value = directive.raw[:2], directive.raw[3:]
        cure = f"use {flag} {value}"
        if len(directive.option) > 1:
            cure += f", or --{directive.option}={value}"
        line, column = script.lines[directive.line - 1], directive.column + 2
        takes_value = flag[1] in SHORT_WITH_VALUE and re.match("=[^\\s=]", line[column - 1 :])
        edits = [replacement(directive.line, column, "=", " ")] if takes_value and value else []
        text = f"the value of {flag} is `{directive.value}`, with the ="
        yield finding_at(directive, text, cure, edits)
