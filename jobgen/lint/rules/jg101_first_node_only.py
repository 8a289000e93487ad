"""torchrun for several nodes runs on the first node only.

sbatch and PBS run the script on the first node of the job, and on no other node. A torchrun in the
script that gets `--nnodes=2` waits there for agents that nobody starts. It ends with
RendezvousTimeoutError after ten minutes. `accelerate launch` calls torchrun, and does the same.
Without `--nnodes`, it trains on the first node, and the other nodes do nothing.

Evidence: sbatch(1) ("the batch script … runs on the first node"), pbsdsh(1B). Tried on OpenPBS
with torch 2.13: two nodes, torchrun in the script alone, RendezvousTimeoutError after the join
timeout.

Cure: start torchrun once on every node. On Slurm: `srun --ntasks-per-node=1 torchrun …`. On PBS:
`pbs_tmrsh`, `pbsdsh` or `mpiexec --ppn 1`, which start it for each host of $PBS_NODEFILE.

Example:
  #SBATCH --nodes=2
- torchrun --nnodes=2 --nproc-per-node=4 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HOSTNAME:29500 train.py
+ #SBATCH --ntasks-per-node=1
+ srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HOSTNAME:29500 train.py
"""

from jobgen.lint.launchers import launchers, outer_command, starts_elsewhere
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    nodes = script.nodes or 1
    if nodes < 2 or script.functions or script.runs_itself or _starts_others(script):
        return
    uses_one_node = not starts_elsewhere(script)
    for launcher in launchers(script):
        if launcher.name == "deepspeed" or launcher.starter:
            continue  # deepspeed starts the other nodes itself
        has_no_nodes = launcher.has_all_options and "config-file" not in launcher.options
        if launcher.is_multi_node and launcher.command.piped_into != "?":
            text = f"{launcher.name} for {nodes} nodes runs on the first node only"
            text += ": the other agents never join"
        elif uses_one_node and has_no_nodes and not launcher.is_multi_node:
            text = f"{launcher.name} uses the first of the {nodes} nodes: the others do nothing"
        else:
            continue
        yield finding_at(launcher.word, text, _cure(script.scheduler, launcher.name))


def _starts_others(script: Script) -> bool:
    """Whether the script starts launchers on other nodes, and goes on to its own."""
    return any(
        launcher.starter and "background" in outer_command(script, launcher.command).enclosing
        for launcher in launchers(script)
    )


def _cure(scheduler: str, name: str) -> str:
    if scheduler == "slurm":
        return f"start it on each node: `srun --ntasks-per-node=1 {name} …`"
    if scheduler == "pbs":
        return "start it on each host of $PBS_NODEFILE, with pbs_tmrsh or mpiexec --ppn 1"
    return "start it on every node"
