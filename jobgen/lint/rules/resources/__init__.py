"""Rules about what a job requests: the GPUs that it uses, and what the cluster of a profile has."""

import re
from collections.abc import Sequence
from typing import Any

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Directive, Findings, Gpus, Script, Word, finding_at
from jobgen.profiles.model import Profile
from jobgen.schedulers import get_scheduler

# Parts of the names of queues, partitions, constraints and resources that mean GPUs.
_GPU_NAME = re.compile(
    r"(?i)gpu|cuda|gres|tres|acc?el|nvidia|dgx|hgx|tesla|quadro|rtx|mig|grace|gaudi|trn|inf\d|"
    r"pascal|volta|turing|ampere|lovelace|hopper|blackwell|"
    r"[pg]\d+[dei]|gh\d{3}|mi\d{2,3}|[vahblpk]\d{2,4}|t\d{1,4}s?\b"
)
# Options whose values do not say what the job requests.
_OTHER_OPTIONS = ("job-name", "N", "output", "error", "o", "e", "mail-user", "M")
# Slurm sets these variables only if the job requests GPUs, or nodes and tasks.
_GPU_VARIABLES = {"SLURM_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_GPUS_PER_NODE", "SLURM_JOB_GPUS"}
_COUNT_VARIABLES = {"SLURM_NNODES", "SLURM_JOB_NUM_NODES", "SLURM_NTASKS", "SLURM_NPROCS"}
_STEP_OPTIONS = re.compile(r"--gres|--gpus|--tres|\s-G\s*\d|sbatch|qsub|\bsalloc\b")


def jg213_no_gpus_requested(script: Script) -> Findings:
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
    used = {use.name for use in script.variable_uses}
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
    """The launcher whose ranks certainly use GPUs: NCCL, for example, works only with GPUs."""
    exported = [each.name for each in script.assignments if each.is_exported]
    has_nccl = any(name.startswith("NCCL_") for name in exported)
    for launcher in launchers(script):
        one_per_gpu = launcher.value("nproc-per-node") in ("gpu", "cuda")
        if has_nccl or one_per_gpu or launcher.name == "deepspeed":
            return launcher.word
    return None


def jg508_gpu_not_in_job(script: Script) -> Findings:
    assignments = script.assignments_of("CUDA_VISIBLE_DEVICES")
    gpus = _gpus(script) if assignments else None
    if not gpus or gpus.count == 0 or script.asks_for_whole_nodes:
        return
    for assignment in assignments:
        value = assignment.value.text
        if not assignment.is_certain or not re.fullmatch(r"\d{1,3}(,\d{1,3})*", value):
            continue
        if (most := max(map(int, value.split(",")))) >= gpus.count:
            count = f"{gpus.count} GPU" + "s" * (gpus.count > 1)
            text = f"there is no GPU {most}: line {gpus.line} requests {count}, numbered from 0"
            yield finding_at(assignment, text, "remove it: Slurm sets CUDA_VISIBLE_DEVICES")


def _gpus(script: Script) -> Gpus | None:
    """The GPUs that the job has on a node, at most; None if a command may request others."""
    if script.scheduler != "slurm" or _STEP_OPTIONS.search(script.code):
        return None
    if directive := script.directive("gpus"):
        count = directive.gpus
        return None if count is None else Gpus(count, directive.line, directive.column)
    return script.gpus_per_node


_GPU_OPTIONS = "gres gpus gpus-per-node gpus-per-task gpus-per-socket tres-per-task".split()


def jg702_cluster_gpus_not_requested(script: Script) -> Findings:
    profile = script.profile
    if not profile or not profile.node.gpus or profile.node.gpu == "none":
        return
    is_for_cluster = script.active_directives and script.scheduler == profile.scheduler
    # Without the option, jobs of this cluster request no GPUs: they get whole nodes.
    if profile.request.gpu_option in (None, "none") or not is_for_cluster:
        return
    gpus, option = profile.node.gpus, profile.request.resource_option
    text = f"the job requests none of the {gpus} GPUs of a node"
    # The older options name GPUs as ngpus=N of the job, or as gpus=N of a node (Torque).
    cures = {"ncpus": "add -l ngpus=N, for the whole job", "nodes": f"add :gpus={gpus}"}
    requests = [each for each in script.active_directives if each.option == "l"]
    if script.scheduler != "pbs":
        if not script.directive(*_GPU_OPTIONS, "exclusive"):
            cure = f"add #SBATCH {_own_request(profile, script)}"
            yield finding_at(script.active_directives[0], text, cure)
    elif script.chunk_requests:
        directive, chunks = script.chunk_requests[-1]
        if not any("ngpus" in resources for _, resources in chunks):
            text = f"the chunks request none of the {gpus} GPUs of a node"
            yield finding_at(directive, text, f"add ngpus={gpus} to the chunk")
    elif requests and option in cures and not any("gpus=" in each.value for each in requests):
        yield finding_at(requests[0], text, cures[option])


def _own_request(profile: Profile, script: Script) -> str:
    """Returns the option of sbatch that requests a node's GPUs in the form of the profile."""
    from jobgen.schedulers.slurm_directives import gpu_texts  # only a finding needs it

    node, nodes = profile.node, script.nodes
    tasks = script.number("ntasks-per-node") or 0
    of_job = node.gpus * nodes if nodes else "N"
    of_task = node.gpus // tasks if tasks and not node.gpus % tasks else "N"
    option = profile.request.gpu_option
    texts = gpu_texts(option, node.gpu_type, node.gpus, of_job, of_task, nodes != 1)
    return " ".join(f"--{name}={text}" for name, text in texts.items())


def jg701_other_scheduler(script: Script) -> Findings:
    profile = script.profile
    scheduler = profile.scheduler if profile else None
    if scheduler not in ("slurm", "pbs") or not script.active_directives:
        return
    if script.scheduler not in ("", scheduler):
        text = f"the profile is for {scheduler}, but the directives are for {script.scheduler}"
        cure = "lint it with the profile of its cluster"
        yield finding_at(script.active_directives[0], text, cure)


def jg703_above_cluster_limits(script: Script) -> Findings:
    profile = script.profile
    if not profile or script.scheduler != profile.scheduler:
        return
    own, qos = script.directive("partition", "q"), script.directive("qos")
    profile = profile.with_place(own.value if own else None, qos.value if qos else None)
    node, gpus = profile.node, script.gpus_per_node
    cores = script.directive("cpus-per-task")
    cores_per_node = (script.number("cpus-per-task") or 0) * (script.number("ntasks-per-node") or 1)
    _, most_gpus = profile.most_gpus_per_node
    for place, count, text, most in (
        (gpus, gpus.count if gpus else 0, "GPUs per node, but a node has", most_gpus),
        (cores, cores_per_node, "cores per node, but a node has", node.cpus),
    ):
        if place and most and count > most:
            yield finding_at(place, f"{count} {text} {most}", f"at most {most}")
    yield from _of_partition(script, profile)


def _of_partition(script: Script, profile: Profile) -> Findings:
    """Findings on nodes and walltime above the limits of each partition or queue of the job."""

    def of(key: str) -> list[Any]:
        return [each.find(key, script.nodes)[1] for each in profile.limits_of_job]

    nodes, gpus = script.nodes_directive, script.gpus_per_node
    most, most_gpus = _highest(of("nodes")), _highest(of("gpus"))
    fewest = min(each or 0 for each in of("min_nodes"))
    if nodes and script.nodes and most and script.nodes > most:
        text = f"{script.nodes} nodes, but a job may have {most}"
        yield finding_at(nodes, text, f"at most {most}, or another partition")
    elif nodes and script.nodes and script.nodes < fewest:
        text = f"{script.nodes} nodes, but a job there has at least {fewest}"
        yield finding_at(nodes, text, f"at least {fewest}, or another partition or queue")
    elif gpus and most_gpus and gpus.count * (script.nodes or 1) > most_gpus:
        text = f"{gpus.count * (script.nodes or 1)} GPUs, but a job may have {most_gpus}"
        yield finding_at(gpus, text, f"at most {most_gpus}, or another partition")
    seconds = get_scheduler(script.scheduler).seconds
    times = [each or "" for each in of("time")]
    longest = _highest([seconds(each) for each in times])
    place, walltime = script.walltime or (None, "")
    if place and longest and (seconds(walltime) or 0) > longest:
        allowed = next(each for each in times if seconds(each) == longest)
        text = f"a walltime of {walltime}, but a job may have {allowed}"
        yield finding_at(place, text, f"at most {allowed}, or another partition or queue")


def _highest(limits: Sequence[int | None]) -> int:
    """The highest limit; 0 if one of the partitions or queues has no limit."""
    return max(each or 0 for each in limits) if all(limits) else 0


_VARIABLES = ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME")


def jg704_no_network_interface(script: Script) -> Findings:
    profile = script.profile
    if not profile or not profile.network.interface or (script.nodes or 1) < 2:
        return
    if any(script.assignments_of(name) for name in _VARIABLES):
        return
    interface, variable = profile.network.interface[0], _VARIABLES[0]
    for launcher in launchers(script)[:1]:
        comments = [comment for comment in script.comments if variable in comment.text]
        more = f", and line {comments[0].line} is only a comment" if comments else ""
        text = f"nothing makes the ranks use {interface}{more}"
        place = comments[0] if comments else launcher.word
        yield finding_at(place, text, f"export {variable}={interface}")
