"""A variable for the program is exported after the program has run.

A program gets the environment as it is when it starts.

Evidence: environ(7).

Cure: the export before the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launch import runs
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=1
srun python train.py
export NCCL_DEBUG=INFO
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=1
export NCCL_DEBUG=INFO
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    ends = [each.offset for each in runs(script) if each.depth == 0]
    last = max((each.offset for each in script.commands if each.depth == 0), default=0)
    for each in script.assignments:
        meant = re.match(r"(NCCL|FI_|GLOO|TORCH_|MASTER_|LD_LIBRARY_PATH$)", each.name)
        late = ends and each.depth == 0 and each.offset > max(ends) and last <= max(ends)
        if meant and late and each.exported and each.certain and not each.of_command:
            yield at(each, f"{each.name} is set when all has run", "set it before")
