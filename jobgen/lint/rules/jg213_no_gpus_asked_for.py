"""GPUs are used, and none are asked for.

Where a job gets a part of a node, it gets the GPUs that it asks for and no others: torch sees none.
Said of a script that asks for cores or memory, so for a part of a node, that names GPUs in no
directive, queue, partition or srun, and yet starts ranks with NCCL's variables, or one for each GPU.

Evidence: tried with Slurm 22.05: a job without --gres has an empty CUDA_VISIBLE_DEVICES, one with
--gres=gpu:4 has 0,1,2,3. sbatch(1), --gres; pbs_resources(7B), custom resources. Seen in a script
for GH200 nodes whose chunk had no ngpus.

Cure: `--gres=gpu:N` or `--gpus-per-node=N`; on PBS `ngpus=N` in the chunk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.directives import Directive
from jobgen.lint.launch import launchers, whole_nodes
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script, Word
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=64G
torchrun --standalone --nproc-per-node=gpu train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=1
#SBATCH --cpus-per-task=16
#SBATCH --mem=64G
#SBATCH --gres=gpu:4
torchrun --standalone --nproc-per-node=gpu train.py
"""


# What stands for GPUs in the names of queues, partitions, constraints and resources.
_NAMED = re.compile(
    r"(?i)gpu|cuda|gres|tres|acc?el|nvidia|dgx|hgx|tesla|quadro|rtx|mig|grace|gaudi|trn|inf\d|"
    r"pascal|volta|turing|ampere|lovelace|hopper|blackwell|"
    r"[pg]\d+[dei]|gh\d{3}|mi\d{2,3}|[vahblpk]\d{2,4}|t\d{1,4}s?\b"
)
_NAMES = ("job-name", "N", "output", "error", "o", "e", "mail-user", "M")  # say nothing of it


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if profile or script.scheduler not in ("slurm", "pbs") or script.option("nodelist"):
        return
    told = [f"{each.option} {each.value}" for each in script.live if each.option not in _NAMES]
    steps = re.search(r"--gres|--gpus|--tres|\s-G\s*\d|sbatch|qsub|\bsalloc\b", _code(script))
    if steps or whole_nodes(script) or any(map(_NAMED.search, told)):
        return
    part, used = _part(script), _use(script)
    if part and used:
        cure = "ngpus=N in the chunk" if script.scheduler == "pbs" else "#SBATCH --gres=gpu:N"
        yield at(part, f"no GPUs are asked for, and line {used.line} uses them", cure)


def _part(script: Script) -> Directive | None:
    """The directive that asks for a part of a node: cores, tasks or memory."""
    for told, chunks in script.selects:
        if any("ncpus" in pairs for _, pairs in chunks):
            return told
    for name in ("ntasks", "ntasks-per-node", "cpus-per-task", "mem-per-cpu", "mem"):
        told_ = script.option(name)
        if told_ and told_.value not in ("0", "1"):
            return told_
    return None


def _code(script: Script) -> str:
    return "\n".join(line for line in script.lines if not line.lstrip().startswith("#"))


def _use(script: Script) -> Word | None:
    """What uses GPUs for certain: NCCL does, since it knows nothing else."""
    nccl = any(each.name.startswith("NCCL_") for each in script.assignments if each.exported)
    for run in launchers(script):
        if nccl or run.value("nproc-per-node") in ("gpu", "cuda") or run.name == "deepspeed":
            return run.at
    return None
