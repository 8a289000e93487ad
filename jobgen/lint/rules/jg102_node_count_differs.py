"""The launcher and the job have different numbers of nodes.

If `--nnodes` (accelerate: `--num_machines`, deepspeed: `--num_nodes`) is above the number of nodes
of the job, the rendezvous waits for agents that can never come. If it is below that number, some
nodes are paid for and do nothing.

Evidence: torch/distributed/run.py (`--nnodes`); a rendezvous short of one agent ended with
RendezvousTimeoutError (torch 2.13, tried).

Cure: `--nnodes=$SLURM_NNODES`, or the same number in both places.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launchers import (
    Launcher,
    launchers,
    starter_option,
)
from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

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
    job_nodes = script.nodes
    if job_nodes is None or script.runs_itself:
        return
    is_alone = len(launchers(script)) == 1
    for launcher in launchers(script):
        nodes = launcher.number("nnodes")
        if nodes is None or nodes == job_nodes or _may_be_right(launcher):
            continue
        if nodes < job_nodes and not is_alone:  # the others may use the other nodes
            continue
        if nodes > 1 or launcher.starter == "srun":
            text = f"{launcher.name} is for {nodes} nodes, but the job has {job_nodes}"
            option = launcher.option_name("nnodes")
            cure = f"use the same number, or {option}=$SLURM_NNODES"
            yield finding_at(launcher.options["nnodes"], text, cure)


def _may_be_right(launcher: Launcher) -> bool:
    """Whether it may be for a part of the nodes, or started by hand on each."""
    options = ("-N", "--nodes", "-w", "--nodelist", "-n", "--ntasks")
    has_own_nodes = starter_option(launcher.words_before, *options)
    return bool(has_own_nodes) or launcher.number("node-rank") is not None
