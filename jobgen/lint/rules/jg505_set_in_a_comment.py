"""A variable that is used is set in a comment alone.

The line that sets it was taken out for a while, or copied with its #: what uses the variable gets
nothing, or whatever the shell that submitted the job had. `--master-port=$PORT` becomes
`--master-port=`.

Evidence: bash(1), COMMENTS and PARAMETERS.

Cure: take the # away; or say the default where it is used, ${NAME:-value}.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launch import launchers, runs
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

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
    # What is sourced may set it.
    if not script.live or any(each.name in ("source", ".", "eval") for each in script.commands):
        return
    used = {
        name
        for command in {*runs(script), *(run.command for run in launchers(script))}
        for word in command.words
        for name in word.variables
        if re.search(rf"\$(?:{name}\b|\{{{name}\}})", word.text)
    }
    known = script.dynamic | {each.name for each in script.assignments} | script.exports
    for comment in script.comments:
        # With a blank behind the # it is rather a note, of what a site's shell sets for example.
        found = re.match(r"#+(?:export\s+)?([A-Za-z_]\w*)=\S", comment.text)
        if found and found[1] in used - known:
            yield at(
                comment, f"${found[1]} is used, and set in this comment alone", "take the # away"
            )
