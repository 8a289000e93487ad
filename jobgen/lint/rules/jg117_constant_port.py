"""Every job of this script has the same port, and others may be on its nodes.

Two jobs that take the same port on one node: the second joins the first one's rendezvous, without
an error where the id is the same too, and dies when that ends. Nothing in the script asks for whole
nodes; whether the site gives them anyway is not known here, so this is looked for only where it is
selected. (With a profile, JG705 knows.)

Evidence: torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py; pytorch#73320. Tried with
torch 2.13: an agent that cannot bind the port becomes a client of whatever is there, and default
and fixed ids merge strangers' agents.

Cure: a port made from the job's id, such as $((10000 + SLURM_JOB_ID % 20000)), and the job's id as
--rdzv-id; or --exclusive.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.launch import fixed_port, launchers, whole_nodes
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

# Many sites give whole nodes without being asked.
OPTIONAL = True
BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
srun torchrun --nnodes=2 --rdzv-id=100 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29400 train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=1
port=$((10000 + SLURM_JOB_ID % 20000))
srun torchrun --nnodes=2 --rdzv-id=$SLURM_JOB_ID --rdzv-backend=c10d --rdzv-endpoint=$HEAD:$port train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if not script.scheduler or whole_nodes(script):
        return
    cure = "make it from the job's id, or ask for whole nodes"
    for run in launchers(script):
        if port := fixed_port(script, run):
            known = run.options.get("rdzv-id")
            also = f", and the id {known.text}" if known and known.literal else ""
            yield at(port, f"every job of this script has this port{also}", cure)
    port_ = script.known.get("MASTER_PORT")
    if port_ and port_.value.text.isdecimal() and not launchers(script):
        yield at(port_, "every job of this script has this port", cure)
