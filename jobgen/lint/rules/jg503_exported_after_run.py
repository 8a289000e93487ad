"""A variable for the program is exported after the program has run.

A program gets the environment at its start. NCCL reads its variables, and the loader reads
LD_LIBRARY_PATH, before the first line of the training runs. What is set later changes nothing, not
even for a library that is loaded later.

Evidence: environ(7); ld.so(8), which reads LD_LIBRARY_PATH once, at the program's start.

Cure: put the export before the run.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launchers import (
    work_commands,
)
from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

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

# Commands that may come last, and need none of these variables.
_LAST_COMMANDS = frozenset(
    """
    echo printf date deactivate conda module exit wait rm mv cp ls cat sync rsync touch mkdir export
    true hostname seff sacct set unset
    """.split()
)
_FOR_PROGRAMS = re.compile(
    r"(NCCL_|RCCL_|FI_|GLOO_|UCX_|TORCH_|MASTER_|CUDA_|HIP_|ROCR_|HSA_|MIOPEN_|OMP_|HF_|PYTORCH_)|"
    r"(LD_LIBRARY_PATH|LD_PRELOAD|PATH|PYTHONPATH|WORLD_SIZE)$"
)
# In a loop, what comes after a run may be before its next round.
_LOOPS = {"for_statement", "while_statement", "c_style_for_statement"}


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    offsets = [
        command.offset
        for command in work_commands(script)
        if command.depth == 0 and not command.enclosing & _LOOPS
    ]
    if not offsets or script.functions or _uses_variables_after(script, max(offsets)):
        return
    for assignment in script.assignments:
        is_late = assignment.depth == 0 and assignment.offset > max(offsets)
        is_plain_export = assignment.is_exported and assignment.is_certain
        if is_late and is_plain_export and _FOR_PROGRAMS.match(assignment.name):
            text = f"{assignment.name} is set after everything has run"
            yield finding_at(assignment, text, "set it before")


def _uses_variables_after(script: Script, offset: int) -> bool:
    """Whether a command after the run may need the variables."""
    return any(
        command.depth == 0 and command.offset > offset and command.name not in _LAST_COMMANDS
        for command in script.commands
    )
