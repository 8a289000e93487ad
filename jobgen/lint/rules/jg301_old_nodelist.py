"""SLURM_NODELIST is the old name of SLURM_JOB_NODELIST.

sbatch still sets it, for scripts from before 2010. The manual of srun no longer lists it.

Evidence: sbatch(1): SLURM_JOB_NODELIST, "and SLURM_NODELIST for backwards compatibility".

Cure: $SLURM_JOB_NODELIST.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding
from jobgen.profiles.model import Profile

# So far it works everywhere.
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
    for name, line in dict(script.variable_uses).items():
        if name == "SLURM_NODELIST":
            column = script.lines[line - 1].find(name)
            text = "SLURM_NODELIST exists for old scripts only"
            yield Finding(line, max(column, 0) + 1, text, "use $SLURM_JOB_NODELIST")
