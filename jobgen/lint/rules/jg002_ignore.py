"""An ignore comment has no reason, or names no rule.

`# jobgen: ignore=JG601 reason` at the end of a line, or on a line of its own before it, keeps
the named rules (several with commas) from that line. Whoever reads it later has to know why.

Cure: codes that `jobgen rules` lists, and a few words of reason.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen import names
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.lint.waivers import waivers
from jobgen.profile import Profile

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
        if wrong := [code for code in waiver.codes if code not in known]:
            yield at(waiver, f"there is no rule {wrong[0]:.20}", "see `jobgen rules`")
        elif not waiver.reason:
            text = "the ignore has no reason, and is not taken"
            yield at(waiver, text, f"# jobgen: ignore={','.join(waiver.codes)} why")
