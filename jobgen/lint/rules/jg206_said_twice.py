"""A directive says something else than an earlier one.

Of an option that is given twice, the last one counts. Who reads the first is misled. PBS's -l says
several things; walltime, select and place are looked at each for itself.

Evidence: sbatch(1); OpenPBS takes the last of two -v (tried).

Cure: keep the one that is meant.
"""

from __future__ import annotations

import re
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
    seen: dict[tuple[str, str], tuple[Directive, str]] = {}
    for each in script.live:
        if each.option == "mail-type":  # these add up
            continue
        for name, value in _said(each, bool(script.selects)):
            before, earlier = seen.get((each.scheduler, name), (each, value))
            if earlier != value and "hetjob" not in script.text:
                said = each.raw if name == each.option or each.scheduler == "slurm" else name
                yield at(
                    each, f"`{said}` takes back what line {before.line} says", "keep one of the two"
                )
            seen[each.scheduler, name] = each, value


def _said(each: Directive, new: bool) -> Iterator[tuple[str, str]]:
    """What a directive says of a job, by name: PBS's -l says several things."""
    if each.scheduler != "pbs" or each.option in ("NAqoejvmM" if new else "NAqoejmM"):
        yield each.option, each.value
    elif each.option == "l":
        yield from re.findall(r"(?:^|,)(walltime|select|place)=([^,]*)", each.value)
