"""The folder of the output is made by the job itself.

Slurm opens the output's file before the script runs. If the folder is not there by then, the
job fails without a word. A mkdir in the script comes too late. (PBS brings the output at the
end: there it helps.)

Evidence: sbatch(1), filename pattern; src/slurmd/slurmstepd opens the files first.

Cure: make the folder before submitting: `mkdir -p logs && sbatch job.sh`; or have the script do
both where it finds no $SLURM_JOB_ID.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Command, Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --output=logs/%j.out
mkdir -p logs
srun hostname
"""
GOOD = """\
#!/bin/bash
#SBATCH --output=logs/%j.out
if [ -z "$SLURM_JOB_ID" ]; then
  mkdir -p logs
  sbatch "$0"
  exit
fi
mkdir -p results
srun hostname
"""


_BRANCHES = frozenset(("if_statement", "case_statement", "function_definition"))

_OTHER = frozenset(("else_clause", "elif_clause"))


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    made = {
        word.text.removeprefix("./").rstrip("/"): command
        for command in script.commands
        if command.name == "mkdir" and not _submits(script, command)
        for word in script.words(command)[1:]
    }
    for name in ("output", "error"):
        told = script.option(name)
        folder = told.value.rpartition("/")[0].removeprefix("./") if told else ""
        if told and folder and (command := made.pop(folder, None)):
            text = f"{folder} has to be there before the job starts"
            yield at(
                told,
                f"{text}: the mkdir of line {command.line} is too late",
                "make it before you submit",
            )


def _submits(script: Script, made: Command) -> bool:
    """Whether the same branch submits a job after it: a script that submits itself."""
    branch = made.within & _BRANCHES
    after = [each for each in script.commands if each.offset > made.offset]
    with_it = takewhile(
        lambda each: branch and each.within >= branch and not (each.within - made.within) & _OTHER,
        after,
    )
    return any(word.text in ("sbatch", "qsub") for each in with_it for word in each.words[:2])
