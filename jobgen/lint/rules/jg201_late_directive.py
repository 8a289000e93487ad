"""A directive comes after the first command.

sbatch and qsub stop reading directives at the first line that is neither blank nor a comment.
What comes later is a comment: the job gets the site's defaults, and nobody says so.

Evidence: sbatch(1), qsub(1B). Tried: `sbatch --test-only` answers 0 for it; OpenPBS ignores it,
too.

Cure: all directives right below the #! line.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
module load cuda
#SBATCH --gres=gpu:4
srun python train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:4
module load cuda
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for each in script.directives:
        if each.late and not script.broken:
            text = f"`{each.raw}` is ignored: it comes after the first command"
            yield at(each, text, "move it up, before all commands")
