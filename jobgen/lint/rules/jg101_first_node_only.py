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

_CURES = {
    "slurm": "start it on each node: `srun --ntasks-per-node=1 {} …`",
    "pbs": "start it on each host of $PBS_NODEFILE, with pbs_tmrsh or mpiexec --ppn 1",
    "": "start it on every node",
}


def check(script: Script) -> Findings:
    nodes, found = script.nodes or 1, launchers(script)
    starts_others = any(
        launcher.starter and "background" in outer_command(script, launcher.command).enclosing
        for launcher in found
    )
    if nodes < 2 or script.functions or script.runs_itself or starts_others:
        return
    for launcher in found:
        if (name := launcher.name) == "deepspeed" or launcher.starter:
            continue  # deepspeed starts the other nodes itself
        has_no_nodes = launcher.has_all_options and "config-file" not in launcher.options
        if launcher.is_multi_node and launcher.command.piped_into != "?":
            text = f"{name} for {nodes} nodes runs on the first node only"
            text += ": the other agents never join"
        elif has_no_nodes and not launcher.is_multi_node and not starts_elsewhere(script):
            text = f"{name} uses the first of the {nodes} nodes: the others do nothing"
        else:
            continue
        yield finding_at(launcher.word, text, _CURES[script.scheduler].format(name))
