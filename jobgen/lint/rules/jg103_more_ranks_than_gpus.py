"""A launcher starts more ranks than the node has GPUs for the job.

Each rank of a node takes the GPU of its local rank. Where there are fewer GPUs than ranks, the
last ones fail with "invalid device ordinal", or share a GPU, and NCCL refuses with "Duplicate
GPU detected".

Evidence: NVIDIA/Megatron-LM#661, NVIDIA/nccl#1948.

Cure: `--nproc-per-node` not above the GPUs a node that the directives ask for; for accelerate,
`--num_processes` not above these times `--num_machines`.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launch import gpus_per_node, launchers
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#PBS -l select=1:ncpus=8:ngpus=1
torchrun --standalone --nproc-per-node=2 train.py
"""
GOOD = """\
#!/bin/bash
#PBS -l select=1:ncpus=8:ngpus=2
export OMP_NUM_THREADS=4
torchrun --standalone --nproc-per-node=2 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    told = gpus_per_node(script)
    for run in launchers(script):
        ranks = run.ranks
        if told and ranks and ranks[0] > told[0] > 0 and script.option("exclusive") is None:
            text = f"{ranks[0]} ranks a node, and {told[0]} GPUs asked for (line {told[1]})"
            yield at(ranks[1], text, "ask for as many, or start fewer ranks")
