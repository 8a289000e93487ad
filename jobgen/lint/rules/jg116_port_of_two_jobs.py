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
from collections.abc import Iterator

from jobgen.lint.directives import Directive
from jobgen.lint.launch import (
    Launcher,
    fixed_port,
    gpus_per_node,
    launchers,
    whole_nodes,
)
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
    for run, port in ports:
        others = [each for each, its in ports if its.text == port.text and each is not run]
        if array and _shared(script, array, profile):
            text = f"all jobs of the array (line {array.line}) have this port"
        elif any(_at_once(script, run, each) for each in others):
            text = "another launcher that runs at the same time has this port"
        else:
            continue
        yield at(port, text, "a port for each, made from the job's id; or --standalone on one node")


def _shared(script: Script, array: Directive, profile: Profile | None) -> bool:
    """Whether jobs of the array may run on one node at a time."""
    several = re.search("[-,:]", array.value.split("%")[0]) and not array.value.endswith("%1")
    gpus = gpus_per_node(script)
    # Most nodes have 4 or 8 GPUs: two jobs that ask for as many are on two nodes.
    most = profile.node.gpus if profile else 4
    return bool(several) and not whole_nodes(script) and not (gpus and gpus[0] >= most)


def _at_once(script: Script, *two: Launcher) -> bool:
    """Whether both run in the background of the script, on its own node, neither awaited first."""
    for run in two:
        here = not run.starter and not run.command.depth and not run.several
        if not here or "background" not in run.command.within:
            return False
    first, last = sorted(run.command.offset for run in two)
    waits = [each.offset for each in script.commands if each.name == "wait"]
    return not any(first < each < last for each in waits)
