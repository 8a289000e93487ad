"""A cluster of GPUs is used, and none are asked for.

A job that asks for no GPUs gets none: `torch.cuda.device_count()` is 0 there, or, where the
site does not fence them off, they are those of another job.

Evidence: sbatch(1), --gres; pbs_resources(7B). Seen in a script for GH200 nodes whose chunk had
no ngpus.

Cure: `--gres=gpu:N` or `--gpus-per-node=N`; on PBS `ngpus=N` in the chunk.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

PROFILE = "eap"
BAD = """\
#!/bin/bash
#PBS -l select=2:ncpus=288:mpiprocs=2
hostname
"""
GOOD = """\
#!/bin/bash
#PBS -l select=2:ncpus=288:mpiprocs=2:ngpus=4
hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if not profile or not profile.node.gpus or profile.node.gpu == "none" or not script.live:
        return
    if profile.request.gpu_option == "none" or script.scheduler != profile.scheduler:
        return
    first = script.live[0]
    if script.scheduler == "pbs":
        if script.selects and not any("ngpus" in pairs for _, pairs in script.selects[-1][1]):
            told = script.selects[-1][0]
            text = f"the chunks ask for none of the {profile.node.gpus} GPUs of a node"
            yield at(told, text, f"ngpus={profile.node.gpus} in the chunk")
        return
    names = ("gres", "gpus", "gpus-per-node", "gpus-per-task", "gpus-per-socket", "tres-per-task")
    if not any(script.option(name) for name in names) and not script.option("exclusive"):
        text = f"none of the {profile.node.gpus} GPUs of a node are asked for"
        yield at(first, text, f"#SBATCH --gres=gpu:{profile.node.gpus}")
