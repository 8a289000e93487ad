"""The exit status of the run is lost in a pipe.

The status of a pipe is that of its last command: `srun … | tee log` ends with 0 however srun
ends. The job counts as COMPLETED, `afterok` jobs start, and nobody is told.

Evidence: bash(1), Pipelines.

Cure: `set -o pipefail`.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launch import runs, strict
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Command, Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=1
srun python train.py | tee train.log
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=1
set -o pipefail
srun python train.py | tee train.log
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if "PIPESTATUS" in script.text:
        return
    for command in runs(script):
        inside = command.starter or command.depth or command.within - {"pipeline"}
        if command.before == "tee" and not inside and _ends(script, command):
            if strict(script, command)[1]:
                continue
            text = f"the job ends well even if {command.name} fails: tee's status counts"
            yield at(command, text, "set -o pipefail")


def _ends(script: Script, command: Command) -> bool:
    """Whether nothing of weight comes after it."""
    after = [each for each in script.commands if each.depth == 0 and each.offset > command.offset]
    return all(each.name in ("tee", "echo", "date", "deactivate", "wait", "set") for each in after)
