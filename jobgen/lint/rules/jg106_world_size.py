"""WORLD_SIZE is not the number of ranks that are started.

init_process_group waits for WORLD_SIZE ranks. With more than are started it hangs, with fewer
it fails.

Evidence: torch.distributed's documentation of the environment variable initialization.

Cure: `export WORLD_SIZE=$SLURM_NTASKS`.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.directives import whole
from jobgen.lint.launch import gpus_per_node, launchers, srun_option
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gres=gpu:4
export WORLD_SIZE=4
srun python train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gres=gpu:4
export WORLD_SIZE=$SLURM_NTASKS
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    tasks = script.option("ntasks-per-node")
    size = script.known.get("WORLD_SIZE")
    starts = [each for each in script.commands if each.name == "srun"]
    if not (tasks and size and script.nodes and starts) or launchers(script):
        return
    if any(
        srun_option(list(each.words), "-n", "--ntasks", "-N", "--nodes", "--ntasks-per-node")
        for each in starts
    ):
        return
    said, each_node = whole(size.value.text), whole(tasks.value)
    gpus = gpus_per_node(script)
    spawned = gpus and said == gpus[0] * script.nodes  # the tasks may start others
    if said and each_node and gpus and said != each_node * script.nodes and not spawned:
        text = f"WORLD_SIZE is {said}, and {each_node * script.nodes} ranks are started"
        yield at(size, text, "WORLD_SIZE=$SLURM_NTASKS")
