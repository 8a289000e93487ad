"""Fewer ranks are started than GPUs are asked for.

Each rank takes one GPU. Those above the number of ranks are paid for, kept from others, and do
nothing. accelerate's `--num_processes` counts the ranks of all nodes: the number of one node's
GPUs there leaves most of them idle.

Evidence: torch/distributed/run.py (`--nproc-per-node`: workers per node);
accelerate/commands/launch.py (`--num_processes`: "The total number of processes"), which gives
each machine its part.

Cure: as many ranks as GPUs: `--nproc-per-node=gpu`, `--num_processes $((SLURM_NNODES * GPUS))`;
or ask for fewer GPUs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jobgen.lint.launch import gpus_per_node, launchers, runs
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:4
srun torchrun --nnodes=2 --nproc-per-node=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
#SBATCH --gres=gpu:4
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    told, found = gpus_per_node(script), launchers(script)
    beside = Counter(each.depth for each in runs(script))  # a run of depth 1 has its srun at 0
    # With others beside it, or in a loop, the rest of the GPUs may be theirs.
    if not told or len(found) != 1 or max(beside.values()) > 1 or "CUDA_VISIBLE" in script.text:
        return
    run = found[0]
    own = run.command.within - {"pipeline"} or run.command.depth > 1
    if not own and run.ranks and 1 < run.ranks[0] < told[0]:
        text = f"{run.ranks[0]} ranks a node, and {told[0]} GPUs asked for (line {told[1]})"
        yield at(run.ranks[1], text, "start a rank for each GPU, or ask for fewer")
