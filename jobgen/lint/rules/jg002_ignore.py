"""An ignore comment is not taken, or keeps nothing away.

`# jobgen: ignore=JG601 reason` at the end of a line, or on a line of its own before it, keeps
the named rules from that line: codes in capitals, several with commas and no blanks between them,
and a reason, for whoever reads it later. One that keeps nothing away is left from another day, or
on the wrong line. Of rules that are not tried (`--select`, no `--profile`) and of scripts that are
read in part nothing is said.

Cure: codes that `jobgen rules` lists, and a few words of reason; take away what is not needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

from jobgen import names
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.lint.waivers import waivers
from jobgen.profile import Profile

CODE = "JG002"
BAD = """\
#!/bin/bash
#SBATCH --nodes=2
head=$(hostname -I | awk '{print $1}')  # jobgen: ignore=JG108
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
# jobgen: ignore=JG108 these nodes have one network
head=$(hostname -I | awk '{print $1}')
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    known = names.rules()
    for waiver in waivers(script):
        if not waiver.codes:
            meant = re.findall(r"JG[0-9]{3}", waiver.said.upper())
            text = "the ignore is not taken: " + (
                "codes are in capitals, with commas and no blanks between them"
                if meant
                else "it names no rule"
            )
            yield at(waiver, text, f"# jobgen: ignore={','.join(meant or ['CODE'])} why")
        elif wrong := [code for code in waiver.codes if code not in known]:
            yield at(waiver, f"there is no rule {wrong[0]:.20}", "see `jobgen rules`")
        elif not waiver.reason:
            text = "the ignore has no reason, and is not taken"
            yield at(waiver, text, f"# jobgen: ignore={','.join(waiver.codes)} why")


def unused(script: Script, tried: Set[str], found: Set[tuple[int, str]]) -> Iterator[Finding]:
    """Of the rules that are `tried`, those that are ignored on lines where they find nothing.

    `found` are lines with the codes of what is found there.
    """
    for waiver in waivers(script):
        idle = [c for c in waiver.codes if c in tried and (waiver.of, c) not in found]
        if waiver.reason and idle:
            text = f"the ignore keeps nothing away: no {', '.join(idle)} on line {waiver.of}"
            yield at(waiver, text, "take it away, or put it where the finding is")
