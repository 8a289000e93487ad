"""The port is fixed, and other jobs may be on the node.

If two jobs use the same port on one node, the second joins the rendezvous of the first one without
an error, and dies when that ends.

Evidence: torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py; pytorch#73320. Tried
with torch 2.13: an agent that cannot bind the port becomes a client of whatever is there; with
is_host=1 it fails at once.

Cure: a port made from the job's id, such as $((10000 + SLURM_JOB_ID % 20000)); `--standalone`
on one node.

Example:
  #SBATCH --nodes=2
  #SBATCH --gres=gpu:1
- srun --ntasks-per-node=1 torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
+ port=$((10000 + SLURM_JOB_ID % 20000))
+ srun --ntasks-per-node=1 torchrun --nnodes=2 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:$port train.py
"""

from jobgen.lint.launchers import fixed_ports
from jobgen.lint.rules import Findings, Script, finding_at

PROFILE = "mi210"


def check(script: Script) -> Findings:
    profile, gpus = script.profile, script.gpus_per_node
    shares_node = profile and gpus and 0 < gpus.count < profile.node.gpus
    if not shares_node or script.asks_for_whole_nodes:
        return
    for _, word in fixed_ports(script):
        port = script.resolved(word.text).rpartition(":")[2]
        text = f"port {port} may be another job's: this job has a part of the node"
        yield finding_at(word, text, "make it from the job's id")
