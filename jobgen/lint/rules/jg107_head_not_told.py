"""The rendezvous is on an address that no agent takes for its own.

An agent becomes the host of a c10d rendezvous if the endpoint is its hostname, or an address
that its hostname resolves to. The address of another interface (InfiniBand, Slingshot) is none
of these: no agent becomes the host, and all of them wait.

Evidence: torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py and pytorch#73656.
Tried on two nodes with torch 2.13: the address of hsn0, to which no hostname resolves, hung
until the join timeout; with is_host it worked.

Cure: `--rdzv-conf=is_host=1` on the first node and `is_host=0` on the others, for example
`is_host=$((SLURM_NODEID == 0))` in the part that each node runs; and `--local-addr` with the
node's own address, or the ranks get the hostname as MASTER_ADDR.
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
head=$(ip -4 -o addr show hsn0 | awk '{ sub("/.*", "", $4); print $4 }')
srun --ntasks-per-node=1 torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$head:29500 train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
export head=$(ip -4 -o addr show hsn0 | awk '{ sub("/.*", "", $4); print $4 }')
srun --ntasks-per-node=1 bash -c 'torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$head:29500 --rdzv-conf=is_host=$((SLURM_NODEID == 0)) train.py'
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for run in torchruns(script):
        endpoint = run.options.get("rdzv-endpoint")
        if not endpoint or "is-host" in run.options or "is_host" in run.value("rdzv-conf"):
            continue
        for name in endpoint.variables:
            for told in script.set_to(name):
                found = re.search(
                    r"\b(?:ip|ifconfig)\b.*?\b((?:ib|hsn|bond|ens)\w+)", told.value.text
                )
                if found and run.value("rdzv-backend") == "c10d" and run.several:
                    text = (
                        f"no agent takes the address of {found[1]} for its own, so none is the host"
                    )
                    cure = "--rdzv-conf=is_host=1 on the first node, is_host=0 on the others"
                    yield at(endpoint, text, cure)
                    break
