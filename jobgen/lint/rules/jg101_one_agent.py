"""torchrun of a job of several nodes is started on the first alone.

Both sbatch and PBS run the script on the first node of the job and nowhere else. A torchrun in
it that is told of several nodes waits there for agents that nobody starts, and ends with
RendezvousTimeoutError after ten minutes. `accelerate launch` calls torchrun, and is no different.

Evidence: sbatch(1) ("the batch script … runs on the first node"), pbsdsh(1B). Tried on OpenPBS
with torch 2.13: two nodes, torchrun in the script alone, RendezvousTimeoutError after the join
timeout.

Cure: start it once on every node: `srun --ntasks-per-node=1 torchrun …` on Slurm; on PBS
`pbs_tmrsh`, `pbsdsh` or `mpiexec --ppn 1`, which start it for each host of $PBS_NODEFILE.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launch import again, launchers
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
torchrun --nnodes=2 --nproc-per-node=4 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HOSTNAME:29500 train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HOSTNAME:29500 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if (script.nodes or 1) < 2 or script.functions or again(script):
        return
    for run in launchers(script):
        if run.name == "deepspeed":
            continue  # it starts the others itself
        if run.several and not run.starter and not run.command.before.startswith("?"):
            cure = {
                "slurm": f"`srun --ntasks-per-node=1 {run.name} …` starts it on each",
                "pbs": "start it on each host of $PBS_NODEFILE, with pbs_tmrsh or mpiexec --ppn 1",
            }
            text = (
                f"{run.name} of {script.nodes} nodes runs on the first alone: the others never join"
            )
            yield at(run.at, text, cure.get(script.scheduler, "start it on every node"))
