"""sbatch has no such option.

sbatch refuses a script with an option that it does not know. A site may have added options of
its own, so this is said only where a known one is spelled nearly the same.

Evidence: sbatch(1); `sbatch --test-only` ends with 255.

Cure: the option as sbatch(1) spells it; with hyphens, not underscores.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from jobgen.lint.directives import SBATCH
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --ntasks_per_node=1
srun hostname
"""
GOOD = """\
#!/bin/bash
#SBATCH --ntasks-per-node=1
srun hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for each in script.live:
        if each.scheduler != "slurm" or len(each.option) == 1 or each.option in SBATCH:
            continue
        if near := get_close_matches(each.option, SBATCH, 1, 0.85):
            text = f"sbatch has no option --{each.option}"
            yield at(each, text, f"did you mean --{near[0]}?")
