"""A fixed port, where other jobs may be on the node.

Two jobs on a node that take the same port: the second joins the first one's rendezvous, without
an error, and dies when that ends.

Evidence: torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py; pytorch#73320. Tried
with torch 2.13: an agent that cannot bind the port becomes a client of whatever is there; with
is_host=1 it fails at once.

Cure: a port made from the job's id, such as $((10000 + SLURM_JOB_ID % 20000)); `--standalone`
on one node.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launch import fixed_port, gpus_per_node, launchers, whole_nodes
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

PROFILE = "mi210"
BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:1
srun --ntasks-per-node=1 torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:1
port=$((10000 + SLURM_JOB_ID % 20000))
srun --ntasks-per-node=1 torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:$port train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    gpus = gpus_per_node(script)
    shared = profile and gpus and 0 < gpus[0] < profile.node.gpus
    if not shared or whole_nodes(script):
        return
    for run in launchers(script):
        if word := fixed_port(script, run):
            port = script.resolved(word.text).rpartition(":")[2]
            text = f"port {port} may be another job's: this one has a part of the node"
            yield at(word, text, "make it from the job's id")
