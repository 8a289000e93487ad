"""How much a job gets: nodes, GPUs, cores, memory and time, within the profile's limits."""

from __future__ import annotations

from jobgen.errors import problem
from jobgen.planner.refusals import limit_error
from jobgen.profiles.model import Profile
from jobgen.profiles.resolve import Resolved
from jobgen.schedulers import Scheduler

REQUEUE_SIGNAL = 120  # seconds before the walltime, if the profile sets none


def nodes(resolved: Resolved) -> int:
    """The nodes of the job."""
    request, limit = resolved.profile.request, resolved.profile.limits.nodes
    amount = request.nodes + request.spares
    if limit is not None and amount > limit:
        raise limit_error(resolved, "request.nodes", amount, "limits.nodes", limit)
    return request.nodes


def gpus_per_node(resolved: Resolved) -> int:
    """The GPUs on each node."""
    node, request = resolved.profile.node, resolved.profile.request
    limit, limit_path = resolved.profile.limits.gpus_per_node, "limits.gpus_per_node"
    if limit is None:
        limit, limit_path = node.gpus, "node.gpus"
    amount = node.gpus if request.gpus_per_node is None else request.gpus_per_node
    if amount > limit:
        raise limit_error(resolved, "request.gpus_per_node", amount, limit_path, limit)
    return amount


def cores(profile: Profile, gpus: int, processes: int) -> int | None:
    """Cores of the job on a node: all of an exclusive node; else its GPUs' share, or one a rank."""
    node = profile.node
    if profile.request.exclusive or profile.scheduler == "local":
        return node.cpus
    if node.cpus is None:
        return None if gpus else processes
    share = node.cpus * gpus // node.gpus if node.gpus else 0
    return share or min(processes, node.cpus)


def memory(resolved: Resolved, shared: bool) -> str | None:
    """The memory on each node: `all`, a size, or None for the site's default.

    With --shared (`shared`), `all` would keep all other jobs away.
    """
    amount, available = resolved.profile.request.memory, resolved.profile.node.memory
    if amount == "all" and shared:
        return None
    if amount and amount != "all" and available and _kib(amount) > _kib(available):
        raise limit_error(resolved, "request.memory", amount, "node.memory", available)
    return amount


def _kib(size: str) -> int:
    factor: int = 1024 ** "KMGT".index(size[-1])
    return int(size[:-1]) * factor


def walltime(resolved: Resolved, scheduler: Scheduler) -> int | None:
    """The walltime in seconds; the scheduler decides what a text means."""
    text, limit = resolved.profile.request.time, resolved.profile.limits.time
    if text is None:
        return None
    amount = _seconds(resolved, scheduler, "request.time", text)
    if limit is not None and amount > _seconds(resolved, scheduler, "limits.time", limit):
        raise limit_error(resolved, "request.time", text, "limits.time", limit)
    return amount


def _seconds(resolved: Resolved, scheduler: Scheduler, path: str, text: str) -> int:
    seconds = scheduler.seconds(text)
    if not seconds:
        message = f"{resolved.profile.scheduler} cannot read the walltime {text!r:.40}"
        if seconds == 0:
            message = "a walltime of 0, which would be no limit at all"
        raise problem(resolved.origin(path), message, "walltime", scheduler.TIME_RULE_IN_WORDS)
    return seconds


def signal(resolved: Resolved, scheduler: Scheduler, time: int | None) -> int | None:
    """Seconds before the end of a walltime of `time` seconds at which the ranks are warned."""
    launch = resolved.profile.launch
    if launch.signal is None:
        needs_signal = launch.requeue and scheduler.REQUEUES_AT_WALLTIME
        return min(REQUEUE_SIGNAL, time // 2 if time else REQUEUE_SIGNAL) if needs_signal else None
    if time is None and not scheduler.SIGNALS:
        text = f"{resolved.profile.scheduler} sends no signal, and the script knows no walltime"
        raise problem(resolved.origin("launch.signal"), text, "conflict", "give one: -t TIME")
    if time is not None and launch.signal >= time:
        text = f"a signal {launch.signal} s before the end of a walltime of {time} s"
        raise problem(resolved.origin("launch.signal"), text, "conflict", "a smaller number")
    return launch.signal
