"""A variable is used, and set only in a comment.

The line that sets it was turned off for a while, or copied with its #. What uses the variable gets
nothing, or the value of the shell that submitted the job. `--master-port=$PORT` becomes
`--master-port=`.

Evidence: bash(1), COMMENTS and PARAMETERS.

Cure: remove the #; or give the default where it is used, ${NAME:-value}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launchers import (
    launchers,
    work_commands,
)
from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#PORT=29500
srun torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HOSTNAME:$PORT train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
PORT=29500
srun torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HOSTNAME:$PORT train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    # A file that the script sources may set it.
    sources = any(command.name in ("source", ".", "eval") for command in script.commands)
    if sources or not script.active_directives:
        return
    unset = _used_variables(script) - _set_variables(script)
    for comment in script.comments:
        # With a blank after the #, it is rather a note about what a site's shell sets.
        found = re.match(r"#+(?:export\s+)?([A-Za-z_]\w*)=\S", comment.text)
        if found and found[1] in unset:
            text = f"${found[1]} is used, but set only in this comment"
            yield finding_at(comment, text, "remove the #")


def _used_variables(script: Script) -> set[str]:
    """The variables without a default in the commands that do the job's work."""
    commands = {*work_commands(script), *(each.command for each in launchers(script))}
    return {
        name
        for command in commands
        for word in command.words
        for name in word.variables
        if re.search(rf"\$(?:{name}\b|\{{{name}\}})", word.text)
    }


def _set_variables(script: Script) -> set[str]:
    assigned = {assignment.name for assignment in script.assignments}
    return script.dynamic_variables | assigned | script.exports
