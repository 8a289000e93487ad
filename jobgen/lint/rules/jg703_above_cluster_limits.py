"""The job requests more than the cluster has.

The profile says how many GPUs and cores a node has, and how many nodes a job may get. A job that
requests more is refused, or waits for ever.

Evidence: sbatch: "Requested node configuration is not available" (tried).

Cure: request what the node has.

Example:
  #SBATCH --nodes=2
- #SBATCH --gres=gpu:16
+ #SBATCH --gres=gpu:8
  srun python train.py
"""

from __future__ import annotations

from jobgen.lint.rules import Findings, Script, finding_at

PROFILE = "mi210"


def check(script: Script) -> Findings:
    profile = script.profile
    if not profile or script.scheduler != profile.scheduler:
        return
    gpus, most_gpus = script.gpus_per_node, profile.limits.gpus_per_node or profile.node.gpus
    if gpus and most_gpus and gpus.count > most_gpus:
        text = f"{gpus.count} GPUs per node, but a node has {most_gpus}"
        yield finding_at(gpus, text, f"at most {most_gpus}")
    nodes, most_nodes = script.directive("nodes"), profile.limits.nodes
    if nodes and most_nodes and (script.nodes or 0) > most_nodes:
        text = f"{script.nodes} nodes, but a job may have {most_nodes}"
        yield finding_at(nodes, text, f"at most {most_nodes}")
    cores, most_cores = script.directive("cpus-per-task"), profile.node.cpus
    if cores and most_cores and (count := _cores_per_node(script)) > most_cores:
        text = f"{count} cores per node, but a node has {most_cores}"
        yield finding_at(cores, text, f"at most {most_cores}")


def _cores_per_node(script: Script) -> int:
    cores, tasks = script.number("cpus-per-task"), script.number("ntasks-per-node")
    return (cores or 0) * (tasks or 1)
