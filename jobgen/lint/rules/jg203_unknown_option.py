"""sbatch has no such option.

sbatch refuses a script with an option that it does not know. A site may have added options of its
own, so the rule reports only an option whose spelling is nearly that of a known one.

Evidence: sbatch(1); `sbatch --test-only` ends with 255.

Cure: the option as sbatch(1) spells it; with hyphens, not underscores.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from jobgen.lint.reader.sbatch_options import OPTIONS
from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

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
    for directive in script.active_directives:
        option = directive.option
        if directive.scheduler != "slurm" or len(option) == 1 or option in OPTIONS:
            continue
        if near := get_close_matches(option, OPTIONS, 1, 0.85):
            text = f"sbatch has no option --{option}"
            yield finding_at(directive, text, f"did you mean --{near[0]}?")
