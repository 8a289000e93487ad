"""The script has directives of Slurm and of PBS.

sbatch also reads #PBS lines, and they override what #SBATCH lines say.

Evidence: src/sbatch/opt.c; tried with Slurm 22.05: `#PBS -l nodes=1` made one node of `#SBATCH
-N 2`.

Cure: one script for each, or `sbatch --ignore-pbs`.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#PBS -l nodes=1
srun hostname
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
srun hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    told = {each.scheduler for each in script.live}
    others = [each for each in script.live if each.scheduler == "pbs" and each.option != "S"]
    if len(told) == 2 and others and not script.option("ignore-pbs"):
        text = "sbatch reads #PBS lines too, and they override the #SBATCH lines"
        yield at(others[0], text, "keep the lines of one scheduler, or say --ignore-pbs")
