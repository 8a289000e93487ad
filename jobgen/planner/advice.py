"""Warnings about settings of a profile and of a job that are valid, but probably a mistake."""

import re
from collections.abc import Iterable
from datetime import date, timedelta
from itertools import chain
from operator import attrgetter

from jobgen.errors import Mark, Problem
from jobgen.planner.limits import has_ended
from jobgen.planner.value_advice import Found, unlikely_values, unlikely_words
from jobgen.planning.job_options import OPTIONS, Job
from jobgen.planning.plan import Plan
from jobgen.profiles.keys.software import ENGINES
from jobgen.profiles.records import value_at
from jobgen.profiles.resolve import Resolved

# Matches the name of a secret as a word of a variable's name; not TOKENIZERS_… or MAX_TOKENS.
_SECRET = re.compile(
    r"(?:^|_)(?:API|ACCESS|AUTH|SSH|HF)?(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE)(?:_|$)",
    re.IGNORECASE,
)
# Variables of libraries for the network and the GPUs hold no secrets. (Compiled when needed.)
_OTHER_NAMES = (
    r"(?i)(?:NCCL|RCCL|FI|UCX|GLOO|OMP|OMPI|CUDA|HIP|TORCH|SLURM|PALS|CCL|MPICH)_.*"
    r"|.*_(?:FILE|FILES|PATH|PATHS|DIR|FOLDER|LENGTH|LEN|SIZE|COUNT|LIMIT|TYPE)"
)
# Values that are no secrets: numbers, truth values, paths, and variables of the node alone.
_OTHER_VALUES = (
    r"(?is)|[0-9.]{1,9}|true|false|yes|no|none|on|off|auto|[/~].*|(?:\$\{?[A-Za-z_]\w*\}?)(?:/.*)?"
)
# By the first letters of an interface's name: the base profile for this network, where it is right,
# and prefixes of variables. If one of these is set, this base or another set-up is in use.
_FABRICS = {
    "hsn": (
        "fabrics/slingshot",
        " on Slingshot 11, with the plugin aws-ofi-nccl (or -rccl) on the node or in the image",
        ("FI_", "NCCL_NET", "RCCL_"),
    ),
    "ib": ("fabrics/infiniband", "", ("NCCL_IB_", "NCCL_NET", "RCCL_")),
}


def is_secret(name: str, value: str) -> bool:
    """Whether a variable looks as if its value were a secret."""
    names = _SECRET.search(name) and not re.fullmatch(_OTHER_NAMES, name)
    return bool(names) and not re.fullmatch(_OTHER_VALUES, value)


def profile_advice(resolved: Resolved) -> list[Problem]:
    """Warnings about a profile alone."""
    gpus, variables = resolved.profile.node.gpus, resolved.profile.network.environment
    found = [_fabric(resolved), _lost_exports(resolved), _gpus_not_requested(resolved)]
    found += [_misspelt_partition(resolved), _cores_not_requested(resolved, gpus)]
    found += [unlikely_values(resolved), _unused_gpus(resolved, gpus), _doubtful_times(resolved)]
    found += [_secrets((name, each.value) for name, each in variables.items()), _last_day(resolved)]
    return _at_origins(found, resolved)


def job_advice(job: Job, plan: Plan, resolved: Resolved) -> list[Problem]:
    """Warnings about a job: about its size, its times, its words, its variables and its network."""
    from_user = {text.partition("=")[0] for text in job.environment}
    gpus, is_batch = plan.request.gpus_per_node, job.command != "byhand"
    found = [_fabric(resolved, from_user)] if plan.request.nodes > 1 else []
    found += [_lost_exports(resolved), _misspelt_partition(resolved), unlikely_values(resolved)]
    found += [unlikely_words(job, plan), _unused_gpus(resolved, gpus)]
    if is_batch:
        found += [_needs(resolved), _last_day(resolved), _doubtful_times(resolved)]
        found += [_shared_cores(plan, resolved), _doubtful_waits(plan, resolved)]
        found += [_ranks_without_gpu(plan, resolved)]
    if gpus and is_batch:
        found += [_gpus_not_requested(resolved), _cores_not_requested(resolved, gpus)]
    variables = ((each.name, each.value) for each in plan.software.environment)
    return _at_origins([*found, _secrets(variables, from_user), _other_slots(plan)], resolved)


def _at_origins(found: Iterable[Found], resolved: Resolved) -> list[Problem]:
    """Returns the warnings as problems, each at the place where its value was set."""
    return [
        Problem(resolved.origins.get(path, Mark(path)), text, code, hint)
        for path, text, code, hint in chain(*found)
    ]


def _lost_exports(resolved: Resolved) -> Found:
    """Warns of variables that shell lines export, but that do not reach the ranks."""
    software, container = resolved.profile.software, resolved.profile.software.container
    if container and not ENGINES[container.engine].passes_all:
        for key in ("commands", "after_modules"):
            if any(re.match(r"\s*(source|\.|eval)\s", line) for line in getattr(software, key)):
                text = f"what these lines source does not reach the container of {container.engine}"
                hint = "name each variable that it needs: -e NAME, or `export NAME` in a line"
                yield f"software.{key}", text, "export", hint
    if re.search(r"\bexport\s", "\n".join(software.once_per_node)):
        text = "what it exports does not reach the ranks: it runs in a process of its own"
        yield "software.once_per_node", text, "export", "export it in software.after_modules"


def _needs(resolved: Resolved) -> Found:
    """Warns of a job that lacks what the site needs of each job, in one warning."""
    missing = []
    for path in resolved.profile.needs:
        if not value_at(resolved.profile, path):
            flags = (row.flags[0] for row in OPTIONS.values() if row.path == path)
            missing.append(next(flags, f"--set {path}=…"))
    if missing:
        text = f"each job there needs {' and '.join(missing)}, which this one lacks"
        yield "needs", text, "needs", "or a profile of yours that extends this one"


def _last_day(resolved: Resolved) -> Found:
    """Warns of a machine that ends soon, and of a profile whose machine has ended."""
    profile, day = resolved.profile, resolved.profile.ends
    if not day or profile.state == "retired":
        return
    hint = f"its successor is {profile.successor}" if profile.successor else "plan for another one"
    if has_ended(day):
        hint = "write `state: retired`, so that its name stays, with the `successor`"
        yield "ends", f"the machine has ended on {day}", "retired", hint
    elif day <= f"{date.today() + timedelta(days=60)}":  # as the registry's check has it
        yield "ends", f"the machine ends on {day}", "retired", hint


def _misspelt_partition(resolved: Resolved) -> Found:
    """Warns of a partition or queue whose name is almost a name in limits.partitions."""
    profile = resolved.profile
    path = "queue" if profile.queue else "partition"
    for name in (profile.queue or profile.partition or "").split(","):
        others = profile.limits.partitions
        if name in others or not others:
            continue
        from difflib import get_close_matches  # it takes a while to import

        if close := get_close_matches(name, others, n=1, cutoff=0.8):
            text = f"`{name}` is not in limits.partitions, whose names are known"
            yield path, text, "partition", f"did you mean `{close[0]}`?"


def _ranks_without_gpu(plan: Plan, resolved: Resolved) -> Found:
    """Warns of more ranks than GPUs on a node, where local rank N takes GPU N (lint rule JG103)."""
    ranks, gpus = plan.launch.processes_per_node, plan.request.gpus_per_node
    if 0 < gpus < ranks:
        text = f"{ranks} ranks on each node have {gpus} {'GPUs' if gpus > 1 else 'GPU'}"
        hint = f"-G {ranks} instead gives each rank its own"
        if ranks > resolved.profile.node.gpus:
            hint = "it is the number of one node, not of all ranks"
        yield "launch.processes_per_node", text, "gpus", hint


def _shared_cores(plan: Plan, resolved: Resolved) -> Found:
    """Warns of fewer cores than ranks; the check of a node expects only the requested cores."""
    cores, ranks = plan.request.cpus_per_task, plan.ranks_per_task
    if cores and cores < ranks:
        paths = ("request.cpus_per_task", "request.cpus_per_gpu", "request.cpus_per_node")
        path = next((path for path in paths if path in resolved.origins), "node.cpus")
        text = f"{ranks} ranks on a node share {cores} {'cores' if cores > 1 else 'core'}"
        yield path, text, "cores", f"`request.cpus_per_node: {ranks}` or more"


def _cores_not_requested(resolved: Resolved, gpus: int) -> Found:
    """Warns of a node whose cores are unknown: the scheduler gives a task or a chunk one core.

    Tried on Slurm 22.05, which gives a job all cores of an exclusive node, and on OpenPBS 23.
    """
    profile, request = resolved.profile, resolved.profile.request
    amounts = (profile.node.cpus, request.cpus_per_gpu, request.cpus_per_node)
    if not gpus or any((*amounts, request.cpus_per_task)):
        return
    if profile.scheduler == "slurm" and not profile.has_whole_nodes:
        whose = "each rank" if profile.launch.launcher == "srun" else "all ranks of a node together"
        text = f"Slurm gives {whose} one core (or DefCpuPerGPU of the partition for each GPU)"
        hint = "`node.cpus: N`, the cores of a node: `sinfo -Neo '%P %c'`"
    elif profile.scheduler == "pbs":
        text = "PBS gives all ranks of a node together one core (ncpus=1, its default)"
        hint = "`node.cpus: N`, the cores of a node: `pbsnodes -a | grep ncpus`"
    else:
        return
    yield "node.gpus", f"node.cpus is not set, and {text}", "cores", hint


MOST_HOURS = 168  # the hours of a week; a larger number is hardly meant as hours
DAYS_IN_HOURS = ("12", "24", "36", "48", "72", "96", "168")  # hours; minutes are rather 30 or 90


def _doubtful_times(resolved: Resolved) -> Found:
    """Warns of walltimes that other tools, or the other scheduler, read as a different time."""
    for path in ("request.time", "limits.time"):
        text = attrgetter(path)(resolved.profile) or ""
        if found := _doubtful_time(text, resolved.profile.scheduler):
            yield path, f"a walltime of {text} is {found[0]}", "walltime", f"write {found[1]}"


def _doubtful_time(text: str, scheduler: str | None) -> tuple[str, str] | None:
    """Returns how a scheduler reads a walltime, and a clearer spelling; None if it is clear."""
    if found := re.fullmatch(r"(\d+):(\d+)", text):
        first, second = map(int, found.groups())
        minutes, seconds = (f"{second}{unit}" if second else "" for unit in "ms")
        hint = f"{first}h{minutes} for hours, or {first}m{seconds}"
        return f"{first} minutes and {second} seconds", hint
    if scheduler == "pbs" and text.isdecimal() and int(text) < 3600:
        hours = f"{text}h, " if int(text) <= MOST_HOURS else ""
        return f"{text} seconds for PBS", f"{hours}{text}m or {text}s"
    if scheduler == "slurm" and text.isdecimal() and not int(text) % 3600:
        return f"{text} minutes for Slurm", f"{text}s for seconds, or {text}m"
    if scheduler == "slurm" and text in DAYS_IN_HOURS:
        return f"{text} minutes for Slurm", f"{text}h for hours, or {text}m"
    return None


def _doubtful_waits(plan: Plan, resolved: Resolved) -> Found:
    """Warns of a hang that the walltime ends first, and of a signal too late to save anything."""
    stall, signal, time = plan.launch.stall, plan.launch.signal, plan.request.time
    if stall and time and stall * 60 >= time:
        text = f"{stall} minutes are not shorter than the walltime"
        hint = f"{max(stall // 60, 1)} for the minutes of {stall} seconds, or a longer walltime"
        yield "launch.stall", text, "value", hint
    if signal and signal < 30 and "launch.signal" in resolved.origins:
        text = f"{signal} seconds before the end are hardly enough to save anything"
        yield "launch.signal", text, "value", f"{signal}m for minutes"


# A number of GPUs, such as ngpus=4, gpus=4 or naccelerators=4; gpu_model=a100 and gpu_mem=80gb only
# choose among the nodes.
_GPU_REQUEST = re.compile(r"(?i)\b(?!\w*mem)\w*(?:gpu|accel)\w*[=:@]\d+(?![\w.])")


def _gpus_not_requested(resolved: Resolved) -> Found:
    """Warns of a node's GPUs that a profile of PBS does not request: the ranks may see no GPU."""
    request, gpus = resolved.profile.request, resolved.profile.node.gpus
    if resolved.profile.scheduler != "pbs" or not gpus or request.gpu_option:
        return
    chunk = ":".join(f"{name}={value}" for name, value in request.chunk.items())
    if not _GPU_REQUEST.search(f"{chunk}:{request.constraint} {request.directives}"):
        text = f"a node has {gpus} GPUs, and PBS is asked for none"
        hint = "write `request.gpu_option: ngpus`; or `none`, if the queue assigns GPUs by itself"
        yield "node.gpus", text, "gpus", hint


def _other_slots(plan: Plan) -> Found:
    """Warns if the ranks on each node are more or fewer than the slots in the file of hosts."""
    ranks = plan.launch.processes_per_node
    for slots in [each for each in plan.slots if each != ranks][:1]:
        option = "-G " if slots <= plan.node.gpus else "--set launch.processes_per_node="
        text = f"each host has {ranks} ranks, and not {slots} by its slots"
        yield "--hosts", text, "size", f"write {option}{slots}"


def _unused_gpus(resolved: Resolved, gpus: int) -> Found:
    """Warns of GPUs without a vendor in node.gpu: with its default, none, the ranks see no GPU."""
    if gpus and "node.gpu" not in resolved.origins:
        text = "node.gpu is not set: the ranks run on the CPU, and see no GPU"
        hint = "`node.gpu: nvidia` (or amd, intel), or `node.gpu: none` if that is meant"
        path = "node.gpus" if "node.gpus" in resolved.origins else "request.gpus_per_node"
        yield path, text, "gpus", hint


def _secrets(variables: Iterable[tuple[str, str | None]], from_user: Iterable[str] = ()) -> Found:
    for name, value in variables:
        if is_secret(name, value or ""):
            text = f"the value of {name} would stand in a script, which is committed and shown"
            hint = f"export {name} where you submit, and use -e {name} without the value"
            path = "-e" if name in from_user else f"network.environment.{name}"
            yield path, f"{text} to others", "secret", hint


def _fabric(resolved: Resolved, from_user: Iterable[str] = ()) -> Found:
    """Warns of a fast network for which neither its base profile nor its own variables are set."""
    profile = resolved.profile
    if profile.scheduler in (None, "local") or profile.node.gpu not in ("nvidia", "amd"):
        return
    paths = [*resolved.origins, *(f"network.environment.{name}" for name in from_user)]
    for kind, (base, where, variables) in _FABRICS.items():
        names = [name for name in profile.network.interface or () if name.startswith(kind)]
        prefixes = tuple(f"network.environment.{name}" for name in variables)
        if names and not any(each.startswith(prefixes) for each in paths):
            text = f"`{names[0]}`, and none of the variables that NCCL needs on this network"
            hint = "to silence this, `network.environment: {NCCL_NET: null}`"
            yield "network.interface", text, "fabric", f"`extends: {base}`{where}; {hint}"
