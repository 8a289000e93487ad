"""A directive says something else than an earlier one.

Of an option that is given twice, the last one counts. Who reads the first is misled.

Evidence: sbatch(1); OpenPBS takes the last of two -v (tried).

Cure: keep the one that is meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.directives import Directive
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH -N 4
srun hostname
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=4
#SBATCH -p gpu
srun hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    seen: dict[tuple[str, str], Directive] = {}
    for each in script.live:
        if each.option == "mail-type":  # these add up
            continue
        if each.scheduler == "pbs" and each.option not in (
            "NAqoejvmM" if script.selects else "NAqoejmM"
        ):
            continue
        before = seen.get((each.scheduler, each.option))
        if before and before.value != each.value and "hetjob" not in script.text:
            text = f"`{each.raw}` takes back what line {before.line} says"
            yield at(each, text, "keep one of the two")
        seen[each.scheduler, each.option] = each
