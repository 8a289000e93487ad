"""srun starts more ranks on a node than it has GPUs for the job.

With one task a rank, each takes the GPU of its local rank: those above the number of GPUs fail
with "invalid device ordinal", or share one, and NCCL refuses with "Duplicate GPU detected".

Evidence: NVIDIA/nccl#1948, NVIDIA/Megatron-LM#661. `--gres` counts GPUs of a node, not of the
job.

Cure: `--ntasks-per-node` the same as `--gres=gpu:N`.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.directives import whole
from jobgen.lint.launch import gpus_per_node, launchers, runs, srun_option
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=8
#SBATCH --gres=gpu:2
export MASTER_ADDR=$(hostname) WORLD_SIZE=$SLURM_NTASKS
srun python train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --gres=gpu:2
export MASTER_ADDR=$(hostname) WORLD_SIZE=$SLURM_NTASKS
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    tasks, told = script.option("ntasks-per-node"), gpus_per_node(script)
    ranks = whole(tasks.value) if tasks else None
    one_a_gpu = "MASTER_ADDR" in script.exports and not launchers(script)
    if not (tasks and told and ranks and one_a_gpu) or ranks <= told[0] or told[0] == 0:
        return
    for command in runs(script):
        own = srun_option(
            list(command.words), "-n", "--ntasks", "--ntasks-per-node", "-N", "--nodes"
        )
        if command.name == "srun" and not own:
            text = f"{ranks} ranks a node, and {told[0]} GPUs asked for (line {told[1]})"
            yield at(tasks, text, "one task a GPU")
            return
