"""Restarts are asked for that do not recover.

Since torch 2.4 the workers use the agents' own TCPStore. After a rank has died, the ones that
are started again read the addresses of the dead from it, and fail until the restarts are used
up.

Evidence: tried with torch 2.13, gloo, two nodes and --max-restarts=3: "Connection refused" each
time; with TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 all ranks finished after one restart. A static
rendezvous did not recover either way.

Cure: `export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1`, and c10d.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launch import torchruns
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
srun --ntasks-per-node=1 torchrun --nnodes=2 --max-restarts=3 --rdzv-id=7 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1
srun --ntasks-per-node=1 torchrun --nnodes=2 --max-restarts=3 --rdzv-id=7 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for run in torchruns(script):
        restarts = run.number("max-restarts")
        if restarts and run.several and "TORCH_DISABLE_SHARE_RDZV_TCP_STORE" not in script.text:
            text = "ranks that are started again read the addresses of the dead, and fail"
            cure = "export TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1 (torch 2.4 and newer)"
            yield at(run.options["max-restarts"], text, cure)
