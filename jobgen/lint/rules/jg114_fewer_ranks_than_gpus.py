"""Fewer ranks are started than GPUs are requested.

Each rank uses one GPU. The GPUs above the number of ranks are paid for, no other job can use them,
and they do nothing. `--num_processes` of accelerate counts the ranks of all nodes: with the number
of GPUs of one node there, most GPUs do nothing.

Evidence: torch/distributed/run.py (`--nproc-per-node`: workers per node);
accelerate/commands/launch.py (`--num_processes`: "The total number of processes"), which gives
each machine its part. Seen in stas00/ml-engineering: four ranks on eight GPUs.

Cure: as many ranks as GPUs: `--nproc-per-node=gpu`, `--num_processes $((SLURM_NNODES * GPUS))`;
or request fewer GPUs.

Example:
  #SBATCH --nodes=2
  #SBATCH --ntasks-per-node=1
  #SBATCH --gres=gpu:4
- srun torchrun --nnodes=2 --nproc-per-node=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
+ srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""

from collections import Counter

from jobgen.lint.launchers import launchers, work_commands
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    gpus, found = script.gpus_per_node, launchers(script)
    if not gpus or len(found) != 1 or "CUDA_VISIBLE" in script.text:
        return
    # The other GPUs may be for other commands, or for other rounds of a loop. What a string starts
    # is counted at its depth: its srun is at depth 0.
    at_depth = Counter(command.depth for command in work_commands(script))
    ranks, command = found[0].ranks_per_node, found[0].command
    if max(at_depth.values()) > 1 or command.enclosing - {"pipeline"} or command.depth > 1:
        return
    if ranks and ranks.count < gpus.count:
        text = f"{ranks.count} ranks per node, but line {gpus.line} requests {gpus.count} GPUs"
        yield finding_at(ranks.word, text, "start a rank for each GPU, or request fewer GPUs")
