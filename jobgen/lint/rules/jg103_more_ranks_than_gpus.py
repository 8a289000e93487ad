"""A launcher starts more ranks on a node than the job has GPUs there.

Each rank uses the GPU with the number of its local rank. If there are fewer GPUs than ranks, the
last ranks fail with "invalid device ordinal". Or they share a GPU, and NCCL refuses with "Duplicate
GPU detected".

Evidence: NVIDIA/Megatron-LM#661, NVIDIA/nccl#1948.

Cure: `--nproc-per-node` at most the GPUs per node that the directives request; for accelerate,
`--num_processes` at most that number times `--num_machines`.

Example:
- #PBS -l select=1:ncpus=8:ngpus=1
+ #PBS -l select=1:ncpus=8:ngpus=2
+ export OMP_NUM_THREADS=4
  torchrun --standalone --nproc-per-node=2 train.py
"""

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    gpus = script.gpus_per_node
    if not gpus or gpus.count == 0 or script.directive("exclusive"):
        return
    for launcher in launchers(script):
        ranks = launcher.ranks_per_node
        if ranks and ranks.count > gpus.count:
            text = f"{ranks.count} ranks per node, but line {gpus.line} requests {gpus.count} GPUs"
            yield finding_at(ranks.word, text, "request as many GPUs, or start fewer ranks")
