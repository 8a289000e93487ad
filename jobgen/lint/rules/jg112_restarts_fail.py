"""Restarted ranks cannot recover.

Since torch 2.4 the workers use the agents' own TCPStore. After a rank has died, the restarted ranks
read the addresses of the dead ranks from it. They fail until no restart is left.

Evidence: tried with torch 2.13, gloo, two nodes and --max-restarts=3: "Connection refused" each
time; with TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 all ranks finished after one restart. A static
rendezvous did not recover either way. Seen in pytorch#135712 and pytorch#167288.

Cure: `export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`, and c10d.

Example:
  #SBATCH --nodes=2
+ export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
  srun --ntasks-per-node=1 torchrun --nnodes=2 --max-restarts=3 --rdzv-id=7 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""

from jobgen.lint.launchers import torchruns
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    if "TORCH_DISABLE_SHARE_RDZV_TCP_STORE" in script.text:
        return
    for launcher in torchruns(script):
        if launcher.number("max-restarts") and launcher.is_multi_node:
            text = "restarted ranks read the addresses of the dead ranks, and fail"
            cure = "export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 (torch 2.4 and newer)"
            yield finding_at(launcher.options["max-restarts"], text, cure)
