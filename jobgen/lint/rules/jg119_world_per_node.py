"""Each node trains alone.

srun starts the launcher on every node of the job, but the launcher gets no number of nodes, or 1:
its default. Each node makes a world of its own, and trains the whole job by itself. Nothing fails.
Every node writes the same checkpoints, and nothing is faster than on one node.

Evidence: torch/distributed/run.py (`--nnodes`, default "1:1"); accelerate/commands/launch.py
(`--num_machines`, default 1). Seen in meta-llama/llama-cookbook#491: `--nnodes` was missing in the
script of a recipe for several nodes.

Cure: `--nnodes=$SLURM_NNODES` with a rendezvous that all nodes share: `--rdzv-backend=c10d
--rdzv-endpoint=$HEAD:29500`. If each node is meant to train alone, give each its own srun with
`--nodes=1`.

Example:
  #SBATCH --nodes=2
  #SBATCH --ntasks-per-node=1
  #SBATCH --gres=gpu:4
- srun torchrun --nproc-per-node=4 train.py
+ srun torchrun --nnodes=$SLURM_NNODES --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""

import re

from jobgen.lint.launchers import launchers, runs_on_all_nodes
from jobgen.lint.rules import Findings, Script, finding_at

# Each node has other work if its number is in the command; a file may have the number of nodes.
_OTHER_WORK = re.compile(r"SLURM_(NODEID|PROCID)|hostname|NODENAME")
_HAS_NODES = {"config-file", "hostfile", "no-ssh", "node-rank", "launcher"}


def check(script: Script) -> Findings:
    nodes = script.nodes or 1
    if nodes < 2 or script.runs_itself or "PET_NNODES" in script.exports:
        return
    for launcher in launchers(script):
        if launcher.is_multi_node or not runs_on_all_nodes(script, launcher.command):
            continue
        has_own_work = _OTHER_WORK.search(launcher.command.text)
        may_have_number = not launcher.has_all_options or launcher.options.keys() & _HAS_NODES
        if launcher.value("nnodes") or not (has_own_work or may_have_number):
            text = f"{nodes} worlds instead of one: each node starts a {launcher.name} for itself"
            option = launcher.option_name("nnodes")
            cure = f"use {option}=$SLURM_NNODES, and a rendezvous that all nodes share"
            yield finding_at(launcher.options.get("nnodes", launcher.word), text, cure)
