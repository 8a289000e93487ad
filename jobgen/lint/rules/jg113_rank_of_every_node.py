"""Every node is told the same rank.

With the static rendezvous, which is the default, each node needs a rank of its own. What the
batch script's shell expands is the first node's: `srun torchrun --node-rank=$SLURM_NODEID` is
`--node-rank=0` on every node. The same happens with a plain number, or with none. Two nodes that
both take themselves for the first start two jobs, or the second cannot open the port.

Evidence: tried with Slurm 22.05: SLURM_NODEID and SLURM_PROCID are 0 in the batch script, and
`srun echo $SLURM_NODEID` prints 0 on both nodes, `srun bash -c 'echo $SLURM_NODEID'` 0 and 1.
torch/distributed/run.py and accelerate/commands/launch.py: static, and rank 0, are the defaults.

Cure: let the shell on the node expand it, `srun bash -c 'torchrun --node-rank=$SLURM_NODEID …'`,
or `--rdzv-backend=c10d`, which needs no ranks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launch import Launcher, again, launchers, srun_option
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
srun torchrun --nnodes=2 --node-rank=$SLURM_NODEID --master-addr=$HEAD --master-port=29500 train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
srun bash -c 'torchrun --nnodes=2 --node-rank=$SLURM_NODEID --master-addr=$HEAD --master-port=29500 train.py'
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if script.nodes == 1 or again(script) or "NODE_RANK" in script.exports:
        return
    for run in launchers(script):
        static = run.value("rdzv-backend") in ("", "static") and "c10d" not in script.text
        counts = [
            srun_option(run.starting, *names) for names in (("-N", "--nodes"), ("-n", "--ntasks"))
        ]
        once = srun_option(run.starting, "-w", "--nodelist", "-r", "--relative") or any(
            count and count.text == "1" for count in counts
        )
        known = run.name != "deepspeed" and run.several and run.starter == "srun"
        if not static or not known or once:
            continue
        if text := _same(script, run):
            rank = run.spelled("node-rank")
            cure = f"srun bash -c '{run.name} … {rank}=$SLURM_NODEID …', or --rdzv-backend=c10d"
            yield at(run.options.get("node-rank", run.at), text, cure)


def _same(script: Script, run: Launcher) -> str:
    """Why all nodes have one rank; "" if they may have their own."""
    word = run.options.get("node-rank")
    if not word:
        hidden = not run.all_known or "config-file" in run.options or "_NODE_RANK" in script.text
        return "" if hidden else "no node is told its rank: each takes itself for the first"
    if run.number("node-rank") is not None and word.literal:
        return f"every node gets the rank {word.text}"
    first = re.search(r"\$\{?SLURM_(NODEID|PROCID)\b", word.text)
    if first and not run.command.depth and f"\\$SLURM_{first[1]}" not in script.text:
        return f"every node gets the rank 0: $SLURM_{first[1]} is expanded before srun starts it"
    return ""
