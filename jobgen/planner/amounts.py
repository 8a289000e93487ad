"""What a job gets: nodes, GPUs, cores, memory and time, within the profile's limits."""

from jobgen.errors import problem
from jobgen.planner.refusals import limit_error
from jobgen.profiles.resolve import Resolved
from jobgen.schedulers import Scheduler

REQUEUE_SIGNAL = 120  # seconds before the walltime, if the profile sets none


def nodes(resolved: Resolved, scheduler: Scheduler) -> int:
    """The nodes of the job."""
    _check_limit(resolved, scheduler, "nodes")
    return resolved.profile.request.nodes


def _check_limit(resolved: Resolved, scheduler: Scheduler, key: str) -> None:
    """Raise JobgenError if the job requests more nodes or time (`key`) than its partition gives.

    The error names partitions or queues that allow the job.
    """
    profile = resolved.profile
    if above := _above(resolved, scheduler, key, profile.partition or profile.queue):
        others = [
            name
            for name in profile.limits.partitions
            if not any(_above(resolved, scheduler, each, name) for each in ("nodes", "time"))
        ]
        amount = _requested(resolved, key)
        raise limit_error(resolved, f"request.{key}", amount or 0, *above[0], others)


def _requested(resolved: Resolved, key: str) -> int | str | None:
    request = resolved.profile.request
    return request.nodes + request.spares if key == "nodes" else request.time


def _above(
    resolved: Resolved, scheduler: Scheduler, key: str, partitions: str | None
) -> list[tuple[str, int | str]]:
    """The limits that the job is above, with their paths; none if a partition allows it."""

    def size(path: str, value: int | str) -> int:
        return value if isinstance(value, int) else _seconds(resolved, scheduler, path, value)

    requested = _requested(resolved, key)
    limits = [
        (f"{path}.{key}", getattr(each, key))
        for path, each in resolved.profile.limits.of(partitions)
    ]
    above = [
        (path, most)
        for path, most in limits
        if requested and most and size(f"request.{key}", requested) > size(path, most)
    ]
    return above if len(above) == len(limits) else []


def gpus_per_node(resolved: Resolved) -> int:
    """The GPUs on each node."""
    node, request = resolved.profile.node, resolved.profile.request
    limit, limit_path = resolved.profile.limits.gpus_per_node, "limits.gpus_per_node"
    if limit is None:
        limit, limit_path = node.gpus, "node.gpus"
    amount = node.gpus if request.gpus_per_node is None else request.gpus_per_node
    if amount > limit:
        nodes = resolved.profile.request.nodes
        share = amount // nodes if nodes > 1 and amount % nodes == 0 else 0
        more = f"; of all nodes together, that is -G {share}" if 0 < share <= limit else ""
        raise limit_error(resolved, "request.gpus_per_node", amount, limit_path, limit, more=more)
    return amount


def cores(resolved: Resolved, gpus: int, processes: int, tasks: int) -> int | None:
    """Cores of the job on a node, with so many of each there: those that are requested.

    Else all of an exclusive node, the share of the GPUs, or one for each rank (`processes`).
    """
    request, node = resolved.profile.request, resolved.profile.node
    amounts = {
        "request.cpus_per_gpu": (request.cpus_per_gpu or 0) * gpus,
        "request.cpus_per_node": request.cpus_per_node,
        "request.cpus_per_task": (request.cpus_per_task or 0) * tasks,
    }
    for path, amount in amounts.items():
        if amount and node.cpus and amount > node.cpus:
            raise limit_error(resolved, path, amount, "node.cpus", node.cpus)
        if amount:
            return amount
    if request.exclusive or resolved.profile.scheduler == "local":
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
    text = resolved.profile.request.time
    if text is None:
        return None
    _check_limit(resolved, scheduler, "time")
    return _seconds(resolved, scheduler, "request.time", text)


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
        raise resolved.conflict("launch.signal", text, "give one: -t TIME")
    if time is not None and launch.signal >= time:
        text = f"a signal {launch.signal} s before the end of a walltime of {time} s"
        raise resolved.conflict("launch.signal", text, "a smaller number")
    return launch.signal
