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

from jobgen.lint.launchers import Launcher, torchruns
from jobgen.lint.rules import Findings, Script, Word, finding_at

_DIFFERS = re.compile(r"\$\{?RANDOM|uuidgen|\$\(date|\$\$")


def check(script: Script) -> Findings:
    if (script.nodes or (1 if script.active_directives else 2)) < 2:
        return
    for launcher in torchruns(script):
        word = launcher.options.get("rdzv-id")
        if not word or not launcher.is_multi_node:
            continue
        if _DIFFERS.search(_text_on_nodes(script, launcher, word)):
            job_id = "$PBS_JOBID" if script.scheduler == "pbs" else "$SLURM_JOB_ID"
            text = f"{word.text} is a different id on each node: the agents never meet"
            yield finding_at(word, text, f"use --rdzv-id={job_id}")


def _text_on_nodes(script: Script, launcher: Launcher, word: Word) -> str:
    """The part of the id that a shell on each node expands."""
    if launcher.command.depth:
        return word.raw  # what the script's own shell has expanded is one id
    is_plain_job = script.scheduler and not script.functions and not launcher.starter
    return word.text if is_plain_job else ""
