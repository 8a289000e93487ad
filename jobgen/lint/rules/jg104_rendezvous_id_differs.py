"""The rendezvous id is different on each node.

Agents meet if they have the same `--rdzv-id`. If the shell that starts torchrun on a node makes the
id, from $RANDOM for example, each node has a different one: every agent waits alone until the join
timeout. In `srun torchrun --rdzv-id=$RANDOM`, the batch script's shell makes the id once, and that
works. In `srun bash -c '…'`, and in a script that every node runs, it does not work.

Evidence: two agents with two ids on torch 2.13: both ended with RendezvousTimeoutError.
Seen in pytorch/examples#1254: "rdzv_id may be not equal in multi node setup using RANDOM".

Cure: the job's id: `--rdzv-id=$SLURM_JOB_ID`, `--rdzv-id=$PBS_JOBID`.

Example:
  #SBATCH --nodes=2
- srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$RANDOM --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py'
+ srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py'
"""

import re

from jobgen.lint.launchers import torchruns
from jobgen.lint.rules import Findings, Script, finding_at

_DIFFERS = re.compile(r"\$\{?RANDOM|uuidgen|\$\(date|\$\$")


def check(script: Script) -> Findings:
    if (script.nodes or (1 if script.active_directives else 2)) < 2:
        return
    is_plain_job = script.scheduler and not script.functions
    for launcher in torchruns(script):
        word = launcher.options.get("rdzv-id")
        if not word or not launcher.is_multi_node:
            continue
        # In a string, what the script's own shell has expanded is one id.
        expanded_here = word.text if is_plain_job and not launcher.starter else ""
        if _DIFFERS.search(word.raw if launcher.command.depth else expanded_here):
            job_id = "$PBS_JOBID" if script.scheduler == "pbs" else "$SLURM_JOB_ID"
            text = f"{word.text} is a different id on each node: the agents never meet"
            yield finding_at(word, text, f"use --rdzv-id={job_id}")
