"""A variable for the program is exported after the program has run.

A program gets the environment as it is when it starts: NCCL reads its variables, and the loader
LD_LIBRARY_PATH, before the first line of the training runs. What is set later changes nothing, not
even for a library that is loaded later.

Evidence: environ(7); ld.so(8), which reads LD_LIBRARY_PATH once, at the program's start.

Cure: the export before the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launch import runs
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Command, Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=1
set -e
srun python train.py
export LD_LIBRARY_PATH=$HOME/nccl/lib:$LD_LIBRARY_PATH
deactivate
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=1
set -e
export LD_LIBRARY_PATH=$HOME/nccl/lib:$LD_LIBRARY_PATH
srun python train.py
deactivate
"""


# What may come after all has run, and needs none of these variables.
_LAST = frozenset(
    """
    echo printf date deactivate conda module exit wait rm mv cp ls cat sync rsync touch mkdir export
    true hostname seff sacct set unset
    """.split()
)
_MEANT = re.compile(
    r"(NCCL_|RCCL_|FI_|GLOO_|UCX_|TORCH_|MASTER_|CUDA_|HIP_|ROCR_|HSA_|MIOPEN_|OMP_|HF_|PYTORCH_)|"
    r"(LD_LIBRARY_PATH|LD_PRELOAD|PATH|PYTHONPATH|WORLD_SIZE)$"
)


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    ends = [each for each in runs(script) if not each.depth and not _aside(each)]
    if not ends or script.functions:
        return
    last = max(each.offset for each in ends)
    after = [each for each in script.commands if not each.depth and each.offset > last]
    if any(each.name not in _LAST for each in after):
        return
    for each in script.assignments:
        late = each.depth == 0 and each.offset > last and each.exported and each.certain
        if late and not each.of_command and _MEANT.match(each.name):
            yield at(each, f"{each.name} is set when all has run", "set it before")


def _aside(run: Command) -> bool:
    """Whether it runs in a loop, where what comes after it may be before its next turn."""
    return bool(run.within & {"for_statement", "while_statement", "c_style_for_statement"})
