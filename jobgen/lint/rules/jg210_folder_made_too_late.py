"""The folder of the output is made by the job itself.

Slurm opens the output's file before the script runs. If the folder is not there by then, the
job fails without a word. A mkdir in the script comes too late. (PBS brings the output at the
end: there it helps.)

Evidence: sbatch(1), filename pattern; src/slurmd/slurmstepd opens the files first.

Cure: make the folder before submitting: `mkdir -p logs && sbatch job.sh`.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --output=logs/%j.out
mkdir -p logs
srun hostname
"""
GOOD = """\
#!/bin/bash
#SBATCH --output=%x-%j.out
mkdir -p results
srun hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    made = {
        word.text.removeprefix("./").rstrip("/"): command
        for command in script.commands
        if command.name == "mkdir"
        for word in script.words(command)[1:]
    }
    for name in ("output", "error"):
        told = script.option(name)
        folder = told.value.rpartition("/")[0].removeprefix("./") if told else ""
        if told and folder and folder in made:
            text = f"{folder} has to be there before the job starts"
            yield at(
                told,
                f"{text}: the mkdir of line {made[folder].line} is too late",
                "make it before you submit",
            )
