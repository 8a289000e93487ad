"""SLURM_NODELIST is the old name of SLURM_JOB_NODELIST.

sbatch still sets it, for scripts from before 2010, and the manual no longer lists it for srun.

Evidence: sbatch(1): SLURM_JOB_NODELIST, "and SLURM_NODELIST for backwards compatibility".

Cure: $SLURM_JOB_NODELIST.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.rules import Finding
from jobgen.lint.script import Script
from jobgen.profile import Profile

# It works everywhere so far.
OPTIONAL = True
BAD = """\
#!/bin/bash
#SBATCH --nodes=2
scontrol show hostnames $SLURM_NODELIST
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
scontrol show hostnames $SLURM_JOB_NODELIST
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for name, line in dict(script.uses).items():
        if name == "SLURM_NODELIST":
            column = script.lines[line - 1].find(name)
            text = "SLURM_NODELIST is kept for old scripts only"
            yield Finding(line, max(column, 0) + 1, text, "$SLURM_JOB_NODELIST")
