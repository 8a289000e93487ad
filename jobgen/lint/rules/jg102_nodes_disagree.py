"""The nodes that a launcher waits for are not those that are asked for.

With `--nnodes` (accelerate: `--num_machines`, deepspeed: `--num_nodes`) above the nodes of the job,
the rendezvous waits for agents that can never come; with fewer, nodes are paid for that do nothing.

Evidence: torch/distributed/run.py (`--nnodes`); a rendezvous short of one agent ended with
RendezvousTimeoutError (torch 2.13, tried).

Cure: `--nnodes=$SLURM_NNODES`, or the same number in both places.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launch import again, launchers, srun_option
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
srun torchrun --nnodes=2 --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
srun torchrun --nnodes=$SLURM_NNODES --nproc-per-node=8 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    asked = script.nodes
    if asked is None or again(script):
        return
    found = launchers(script)
    for run in found:
        nodes = run.number("nnodes")
        starting = srun_option(run.starting, "-N", "--nodes", "-w", "--nodelist", "-n", "--ntasks")
        if (
            nodes is None
            or nodes == asked
            or starting
            or run.number("node-rank") is not None
            or (nodes < asked and len(found) > 1)
        ):
            continue
        if nodes > 1 or run.starter == "srun":
            text = f"{run.name} is of {nodes} nodes, the job of {asked}"
            cure = f"say the same number, or {run.spelled('nnodes')}=$SLURM_NNODES"
            yield at(run.options["nnodes"], text, cure)
