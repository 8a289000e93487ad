"""The script is for another scheduler than the profile.

Directives of the other scheduler are comments to this one.

Evidence: sbatch(1), qsub(1B).

Cure: the profile that the script is for, or the directives of this one.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

PROFILE = "mi210"
BAD = """\
#!/bin/bash
#PBS -l select=2:ncpus=4
hostname
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:8
hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    scheduler = profile.scheduler if profile else None
    if scheduler in ("slurm", "pbs") and script.live and script.scheduler not in ("", scheduler):
        first = script.live[0]
        text = f"the profile's scheduler is {scheduler}, the directives are for {script.scheduler}"
        yield at(first, text, "lint it with the profile that it is for")
