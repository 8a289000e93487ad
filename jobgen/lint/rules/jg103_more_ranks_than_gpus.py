"""torchrun starts more ranks than the node has GPUs for the job.

Each rank of a node takes the GPU of its local rank. Where there are fewer GPUs than ranks, the
last ones fail with "invalid device ordinal", or share a GPU, and NCCL refuses with "Duplicate
GPU detected".

Evidence: NVIDIA/Megatron-LM#661, NVIDIA/nccl#1948.

Cure: `--nproc-per-node` not above the GPUs a node that the directives ask for.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launch import gpus_per_node, torchruns
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
    for run in torchruns(script):
        ranks = run.number("nproc-per-node", "nproc")
        if told and ranks and ranks > told[0] > 0 and script.option("exclusive") is None:
            word = run.options.get("nproc-per-node") or run.options["nproc"]
            text = f"{ranks} ranks a node, and {told[0]} GPUs asked for (line {told[1]})"
            yield at(word, text, "ask for as many, or start fewer ranks")
