"""The script is for another scheduler than the profile.

Directives of the other scheduler are comments to this one.

Evidence: sbatch(1), qsub(1B).

Cure: the profile for which the script is, or the directives of this one.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

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
    if scheduler not in ("slurm", "pbs") or not script.active_directives:
        return
    if script.scheduler not in ("", scheduler):
        text = f"the profile is for {scheduler}, but the directives are for {script.scheduler}"
        cure = "lint it with the profile of its cluster"
        yield finding_at(script.active_directives[0], text, cure)
