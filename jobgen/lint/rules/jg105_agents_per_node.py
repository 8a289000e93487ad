"""srun starts several torchruns on a node.

torchrun starts the ranks of a node itself, so it is wanted once a node. With several tasks a
node, srun starts as many agents there: more come than `--nnodes` says, and they start more
ranks than there are GPUs, or do not get into the rendezvous.

Evidence: srun(1) (`--ntasks-per-node`); stas00/ml-engineering calls `--ntasks-per-node=1`
"crucial" here.

Cure: `--ntasks-per-node=1`, with `--cpus-per-task` for all of the node's ranks.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.directives import whole
from jobgen.lint.launch import launchers, srun_option
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    tasks = script.option("ntasks-per-node")
    if not tasks or (whole(tasks.value) or 1) < 2:
        return
    own = ("--ntasks-per-node", "--tasks-per-node", "-n", "--ntasks", "-N", "--nodes")
    for run in launchers(script):
        ranks = run.ranks
        direct = run.starter == "srun" and run.command.name == "srun" and run.name != "deepspeed"
        if direct and (not ranks or ranks[0] > 1) and not srun_option(run.starting, *own):
            text = f"srun starts {tasks.value} {run.name}s on each node (line {tasks.line})"
            yield at(run.at, text, f"--ntasks-per-node=1: {run.name} starts the ranks itself")
