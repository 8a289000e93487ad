"""The script uses GPUs, but requests none."""

import re

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Directive, Findings, Script, Word, finding_at

# What stands for GPUs in the names of queues, partitions, constraints and resources.
_GPU_NAME = re.compile(
    r"(?i)gpu|cuda|gres|tres|acc?el|nvidia|dgx|hgx|tesla|quadro|rtx|mig|grace|gaudi|trn|inf\d|"
    r"pascal|volta|turing|ampere|lovelace|hopper|blackwell|"
    r"[pg]\d+[dei]|gh\d{3}|mi\d{2,3}|[vahblpk]\d{2,4}|t\d{1,4}s?\b"
)
# Options whose values do not say what the job requests.
_OTHER_OPTIONS = ("job-name", "N", "output", "error", "o", "e", "mail-user", "M")
# Slurm sets these only if GPUs, or nodes and tasks, are asked for.
_GPU_VARIABLES = {"SLURM_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE", "SLURM_JOB_GPUS"}
_COUNT_VARIABLES = {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_NPROCS"}
_STEP_OPTIONS = re.compile(r"--gres|--gpus|--tres|\s-G\s*\d|sbatch|qsub|\bsalloc\b")


def check(script: Script) -> Findings:
    if script.profile or script.scheduler not in ("slurm", "pbs") or script.directive("nodelist"):
        return
    if script.asks_for_whole_nodes or _may_request_gpus(script):
        return
    request, use = _partial_request(script), _gpu_use(script)
    if request and use:
        is_pbs = script.scheduler == "pbs"
        cure = "add ngpus=N to the chunk" if is_pbs else "add #SBATCH --gres=gpu:N"
        text = f"no GPUs are requested, but line {use.line} uses them"
        yield finding_at(request, text, cure)


def _may_request_gpus(script: Script) -> bool:
    """Whether a directive, a step, or the command line of sbatch or qsub may request GPUs."""
    if _STEP_OPTIONS.search(script.code):
        return True
    if any(re.search(r"\b(sbatch|qsub)\s+-", comment.text) for comment in script.comments):
        return True
    used = {name for name, _ in script.variable_uses}
    has_counts = script.directive("nodes", "ntasks", "ntasks-per-node")
    if used & _GPU_VARIABLES or (not has_counts and used & _COUNT_VARIABLES):
        return True
    return any(
        _GPU_NAME.search(f"{directive.option} {directive.value}")
        for directive in script.active_directives
        if directive.option not in _OTHER_OPTIONS
    )


def _partial_request(script: Script) -> Directive | None:
    """The directive that requests a part of a node: cores, tasks or memory."""
    for directive, chunks in script.chunk_requests:
        if any("ncpus" in resources for _, resources in chunks):
            return directive
    options = ("ntasks", "ntasks-per-node", "cpus-per-task", "mem-per-cpu", "mem")
    found = filter(None, map(script.directive, options))
    return next((directive for directive in found if directive.value not in ("0", "1")), None)


def _gpu_use(script: Script) -> Word | None:
    """The launcher whose ranks certainly use GPUs: NCCL works with nothing else."""
    exported = [each.name for each in script.assignments if each.is_exported]
    has_nccl = any(name.startswith("NCCL_") for name in exported)
    for launcher in launchers(script):
        one_per_gpu = launcher.value("nproc-per-node") in ("gpu", "cuda")
        if has_nccl or one_per_gpu or launcher.name == "deepspeed":
            return launcher.word
    return None
