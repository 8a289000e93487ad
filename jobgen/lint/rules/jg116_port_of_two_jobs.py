"""Two launchers that may run at once on a node have one port.

The jobs of an array, or commands in the background of one script, share a node where there is
room. With the same port, the second joins the first one's rendezvous without an error, and dies
when that ends; or it fails because the address is in use.

Evidence: torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py; pytorch#73320. Tried with
torch 2.13: an agent that cannot bind the port becomes a client of whatever is there.

Cure: a port for each, such as $((10000 + SLURM_JOB_ID % 20000)) or $((29500 + SLURM_ARRAY_TASK_ID));
`--standalone` on one node; or `--array=0-9%1`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from jobgen.lint.launch import Launcher, fixed_port, launchers, whole_nodes
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --array=0-9
#SBATCH --gres=gpu:2
torchrun --nnodes=1 --nproc-per-node=2 --master-port=29501 train.py --fold $SLURM_ARRAY_TASK_ID
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --array=0-9
#SBATCH --gres=gpu:2
torchrun --standalone --nproc-per-node=2 train.py --fold $SLURM_ARRAY_TASK_ID
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    ports = [(run, port) for run in launchers(script) if (port := fixed_port(script, run))]
    array = script.option("array") or script.option("J")
    many = array and not whole_nodes(script) and re.search(r"[-,:]", array.value.split("%")[0])
    at_once = Counter(port.text for run, port in ports if _aside(run))
    for run, port in ports:
        if many and array and not re.search(r"%1$", array.value):
            text = f"all jobs of the array (line {array.line}) have this port"
        elif _aside(run) and at_once[port.text] > 1:
            text = "another launcher that runs at the same time has this port"
        else:
            continue
        yield at(port, text, "a port for each, made from the job's id; or --standalone on one node")


def _aside(run: Launcher) -> bool:
    """Whether it runs in the background of the script, on the script's own node."""
    return "background" in run.command.within and not run.starter and not run.command.depth
