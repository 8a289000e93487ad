"""GPUs are used, and none are asked for.

Where a job gets a part of a node, it gets the GPUs that it asks for and no others: `nvidia-smi` and
torch see none. Said of a script that asks for cores or memory, so for a part of a node, that names
GPUs in no directive, no queue, no partition and no srun, and that uses them all the same.

Evidence: tried with Slurm 22.05: a job without --gres has an empty CUDA_VISIBLE_DEVICES, one with
--gres=gpu:4 has 0,1,2,3. sbatch(1), --gres; pbs_resources(7B), custom resources. Seen in a script
for GH200 nodes whose chunk had no ngpus.

Cure: `--gres=gpu:N` or `--gpus-per-node=N`; on PBS `ngpus=N` in the chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launch import launchers, whole_nodes
from jobgen.lint.rules import Finding, Placed, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=64G
nvidia-smi
torchrun --standalone --nproc-per-node=gpu train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=64G
#SBATCH --gres=gpu:4
nvidia-smi
torchrun --standalone --nproc-per-node=gpu train.py
"""


# What stands for GPUs in the names of queues, partitions, constraints and resources.
_NAMED = re.compile(
    r"(?i)gpu|cuda|gres|tres|acc?el|nvidia|dgx|tesla|quadro|rtx|hgx|mig|grace|[pg]\d+[dei]|gh\d{3}|"
    r"mi\d{2,3}|[vahblpkt]\d{2,4}s?\b|[vahblpk]\d{2,4}|gaudi|trn|inf\d"
)


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if profile or not script.live or script.scheduler not in ("slurm", "pbs"):
        return
    parts = ("mem", "mem-per-cpu", "cpus-per-task", "ntasks-per-node", "ntasks")
    part = [
        each for name in parts if (each := script.option(name)) and each.value not in ("0", "1")
    ]
    part += [
        told for told, chunks in script.selects if any("ncpus" in pairs for _, pairs in chunks)
    ]
    plain = [each for each in script.live if each.option not in ("job-name", "N", "output", "error",
             "o", "e", "mail-user", "M")]  # fmt: skip
    asked = any(_NAMED.search(f"{each.option} {each.value}") for each in plain)
    steps = re.search(r"--gres|--gpus|--tres|\s-G\s*\d|sbatch|qsub|\bsalloc\b", _code(script))
    if part and not asked and not steps and not whole_nodes(script) and (used := _use(script)):
        cure = "ngpus=N in the chunk" if script.scheduler == "pbs" else "#SBATCH --gres=gpu:N"
        yield at(part[-1], f"no GPUs are asked for, and line {used.line} uses them", cure)


def _code(script: Script) -> str:
    return "\n".join(line for line in script.lines if not line.lstrip().startswith("#"))


def _use(script: Script) -> Placed | None:
    """What uses GPUs for certain: NCCL does, since it knows nothing else."""
    for run in launchers(script):
        nccl = any(each.name.startswith("NCCL_") for each in script.assignments if each.exported)
        if nccl or run.value("nproc-per-node") in ("gpu", "cuda") or run.name == "deepspeed":
            return run.at
    for command in script.commands:
        words = [word.text for word in command.words]
        flags = command.name in ("apptainer", "singularity") and {"--nv", "--rocm"} & {*words}
        if command.name in ("nvidia-smi", "rocm-smi") or flags:
            return command
    return None
