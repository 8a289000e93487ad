"""deepspeed is not told of the job's nodes.

deepspeed finds other nodes in its hostfile, /job/hostfile if none is named, and starts ranks
there over ssh. It knows nothing of Slurm or PBS: without a hostfile it trains on the first node
alone, and the others idle until the walltime; with `--num_nodes` it ends with "Num nodes is >1 but
no extra nodes available via hostfile".

Evidence: deepspeed/launcher/runner.py (`fetch_hostfile`, `main`).

Cure: write a hostfile first (`HOST slots=GPUS`, a line for each node) and give it with
`--hostfile`; or start torchrun on every node, with the same program.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launch import again, launchers
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:4
deepspeed --num_gpus=4 train.py --deepspeed_config zero.json
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:4
scontrol show hostnames "$SLURM_JOB_NODELIST" | sed 's/$/ slots=4/' > hosts
deepspeed --hostfile=hosts train.py --deepspeed_config zero.json
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if script.functions or again(script) or "/job/hostfile" in script.text:
        return
    for run in launchers(script):
        nodes = max(script.nodes or 1, run.number("nnodes") or 1)
        told = run.options.keys() & {"hostfile", "no-ssh", "i", "include"} or not run.all_known
        if run.name == "deepspeed" and nodes > 1 and not told and not run.starter:
            text = f"deepspeed knows nothing of the {nodes} nodes: it uses the first alone"
            yield at(run.at, text, "name them in a file, and give it with --hostfile")
