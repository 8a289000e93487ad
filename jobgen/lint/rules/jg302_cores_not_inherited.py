"""srun does not take over --cpus-per-task.

In Slurm 22.05 and 23.02 srun no longer reads what sbatch was told of cores: each task gets one,
and a torchrun with all its ranks and their data loaders share it.

Evidence: Slurm's changelogs of 22.05 (srun reads SRUN_CPUS_PER_TASK alone) and of 23.11 (taken
back).

Cure: `export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK`, which is right for every version.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.directives import whole
from jobgen.lint.launch import runs, srun_option
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

# Other versions do not need it.
OPTIONAL = True
BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --cpus-per-task=32
srun python train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --cpus-per-task=32
export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    told = script.option("cpus-per-task")
    if not told or (whole(told.value) or 1) < 2 or "SRUN_CPUS_PER_TASK" in script.text:
        return
    for command in runs(script):
        words = list(command.words)
        if command.name == "srun" and not srun_option(words, "-c", "--cpus-per-task"):
            text = f"with Slurm 22.05 and 23.02, srun does not know of line {told.line}: one core a task"
            yield at(command, text, "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK")
