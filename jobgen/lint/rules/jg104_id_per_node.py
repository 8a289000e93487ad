"""The rendezvous id is another one on each node.

Agents meet under `--rdzv-id`. What the shell that starts torchrun on a node makes up there,
such as $RANDOM, is another id on each: every agent waits alone until the join timeout. In `srun
torchrun --rdzv-id=$RANDOM` the batch script's shell makes it up once, which works; in `srun
bash -c '…'` and in a script that every node runs it does not.

Evidence: two agents with two ids on torch 2.13: both ended with RendezvousTimeoutError.

Cure: the job's id: `--rdzv-id=$SLURM_JOB_ID`, `--rdzv-id=$PBS_JOBID`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launch import torchruns
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$RANDOM --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py'
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py'
"""

_MADE_UP = re.compile(r"\$\{?RANDOM|uuidgen|\$\(date|\$\$")


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if (script.nodes or (1 if script.live else 2)) < 2:
        return
    for run in torchruns(script):
        word = run.options.get("rdzv-id")
        if not word or not run.several:
            continue
        here = script.scheduler and not script.functions and not run.starter
        # In a string for another shell, what the script's own shell has made up is one id.
        text = word.raw if run.command.depth else word.text if here else ""
        if _MADE_UP.search(text):
            job = "$PBS_JOBID" if script.scheduler == "pbs" else "$SLURM_JOB_ID"
            said = f"{word.text} is another id on each node: its agents never meet"
            yield at(word, said, f"--rdzv-id={job}")
