"""More is asked for than the cluster has.

The profile says how many GPUs and cores a node has, and how many nodes one job may get. A job
that asks for more is refused, or waits for ever.

Evidence: sbatch: "Requested node configuration is not available" (tried).

Cure: what the node has.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.directives import whole
from jobgen.lint.launch import gpus_per_node
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

PROFILE = "mi210"
BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:16
srun python train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:8
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if not profile or script.scheduler != profile.scheduler:
        return
    gpus, most = gpus_per_node(script), profile.limits.gpus_per_node or profile.node.gpus
    if gpus and most and gpus[0] > most:
        yield Finding(
            gpus[1], gpus[2], f"{gpus[0]} GPUs a node, which has {most}", f"at most {most}"
        )
    nodes, limit = script.option("nodes"), profile.limits.nodes
    if nodes and limit and (script.nodes or 0) > limit:
        yield at(nodes, f"{script.nodes} nodes, and one job may have {limit}", f"at most {limit}")
    cores = script.option("cpus-per-task")
    tasks = script.option("ntasks-per-node")
    if cores and profile.node.cpus:
        asked = (whole(cores.value) or 0) * ((whole(tasks.value) if tasks else None) or 1)
        if asked > profile.node.cpus:
            text = f"{asked} cores a node, which has {profile.node.cpus}"
            yield at(cores, text, f"at most {profile.node.cpus}")
