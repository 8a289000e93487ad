"""A variable of Slurm's is used, and not the option that sets it.

Slurm sets some variables only where their option is given: $SLURM_CPUS_PER_TASK is empty without
--cpus-per-task, $SLURM_GPUS without --gpus, though the job has cores and, by --gres, GPUs. Looked for
where the directives ask for nodes, tasks, GPUs or memory, and the option is nowhere in the script.

Evidence: sbatch(1), OUTPUT ENVIRONMENT VARIABLES: "Only set if the … option is specified". Tried with
Slurm 22.05: in a job with --gres=gpu:2 and --nodes=1 $SLURM_CPUS_PER_TASK, $SLURM_GPUS,
$SLURM_GPUS_PER_NODE and $SLURM_NTASKS_PER_NODE are empty, and $SLURM_GPUS_ON_NODE is 2.

Cure: the option; what the job got, $SLURM_GPUS_ON_NODE or $SLURM_CPUS_ON_NODE; or a default,
`${SLURM_CPUS_PER_TASK:-1}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launch import again
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script, Word
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:4
torchrun --standalone --nproc-per-node=$SLURM_GPUS train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --gres=gpu:4
echo "$SLURM_GPUS GPUs"
export OMP_NUM_THREADS=${SLURM_CPUS_PER_TASK:-8}
torchrun --standalone --nproc-per-node=$SLURM_GPUS_ON_NODE train.py
"""

_OPTIONS = {
    "SLURM_CPUS_PER_TASK": "cpus-per-task",
    "SLURM_GPUS": "gpus",
    "SLURM_GPUS_PER_NODE": "gpus-per-node",
    "SLURM_GPUS_PER_TASK": "gpus-per-task",
    "SLURM_NTASKS_PER_NODE": "ntasks-per-node",
}
# Those that say it in another way, or of which one does not know.
_ALSO = {"cpus-per-task": "|cpus-per-gpu|tres-per-task", "ntasks-per-node": "|tasks-per-node"}
_SIZES = (
    "nodes",
    "ntasks",
    "ntasks-per-node",
    "cpus-per-task",
    "gres",
    "gpus",
    "gpus-per-node",
    "mem",
)


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if script.scheduler != "slurm" or not script.option(*_SIZES) or again(script):
        return
    for name, option in _OPTIONS.items():
        said = re.search(rf"--({option}{_ALSO.get(option, '')})\b(?!-)", script.text)
        if said or script.option(option) or script.set_to(name) or name in script.dynamic:
            continue
        if word := _use(script, name):
            text = f"${name} is empty: Slurm sets it only where --{option} is given"
            yield at(word, text, f"#SBATCH --{option}=…, or a default, ${{{name}:-…}}")


def _use(script: Script, name: str) -> Word | None:
    """Where a variable without a default is first used for more than a message."""
    words = [
        word
        for command in script.commands
        if not command.within - {"pipeline"} and command.name not in ("echo", "printf", "test", "[")
        for word in command.words
    ]
    words += [each.value for each in script.assignments if each.certain]
    plain = re.compile(rf"\$({name}\b|\{{{name}\}})")
    used = [each for each in words if name in each.variables and plain.search(each.raw)]
    return min(used, key=lambda each: (each.line, each.column)) if used else None
