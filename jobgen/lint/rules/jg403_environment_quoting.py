"""A value with a comma in -v loses its quotes.

qsub takes a directive's words apart at quotes, and then the list of -v at commas: the comma in
`C="x,y"` ends the value.

Evidence: tried on OpenPBS: "cannot send environment with the job"; with quotes around all of
it, it works.

Cure: `#PBS -v 'A=b,C="x,y"'`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#PBS -v A=b,C="x,y"
hostname
"""
GOOD = """\
#!/bin/bash
#PBS -v 'A=b,C="x,y"'
hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for each in script.live:
        line = script.lines[each.line - 1]
        if (
            each.scheduler == "pbs"
            and each.option == "v"
            and re.search(r"-v\s*[^'\s]*=\"[^\"]*,", line)
        ):
            text = "the quotes are gone before the list is taken apart: the comma ends the value"
            yield at(each, text, "single quotes around all of -v's value")
