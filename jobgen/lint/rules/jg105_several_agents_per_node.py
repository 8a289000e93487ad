"""srun starts several torchruns on a node.

torchrun itself starts the ranks of a node, so each node needs one torchrun. With several tasks per
node, srun starts as many agents there. There are more agents than `--nnodes` says: they start more
ranks than there are GPUs, or cannot join the rendezvous.

Evidence: srun(1) (`--ntasks-per-node`); stas00/ml-engineering calls `--ntasks-per-node=1`
"crucial" here. Seen in awslabs/awsome-distributed-ai#1112: eight torchruns of eight ranks each.

Cure: `--ntasks-per-node=1`, with `--cpus-per-task` for all ranks of the node.

Example:
  #SBATCH --nodes=2
- #SBATCH --ntasks-per-node=4
+ #SBATCH --ntasks-per-node=1
  srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""

from jobgen.lint.launchers import STEP_COUNTS, launchers, starter_option
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    per_node, tasks = script.directive("ntasks-per-node"), script.number("ntasks")
    count = script.number("ntasks-per-node") or 1
    if tasks and script.nodes:  # then --ntasks-per-node is only the most
        count = min(count, -(-tasks // script.nodes))
    if not per_node or count < 2:
        return
    for launcher in launchers(script):
        name, ranks = launcher.name, launcher.ranks_per_node
        is_started_by_srun = launcher.starter == "srun" and launcher.command.name == "srun"
        if not is_started_by_srun or name == "deepspeed" or (ranks and ranks.count <= 1):
            continue
        place = launcher.word.line, launcher.word.column
        before = [word for word in launcher.command.words if (word.line, word.column) < place]
        if not starter_option(before, *STEP_COUNTS, "--tasks-per-node"):
            text = f"srun starts {count} {name}s on each node (see line {per_node.line})"
            cure = f"use --ntasks-per-node=1: {name} itself starts the ranks"
            yield finding_at(launcher.word, text, cure)
