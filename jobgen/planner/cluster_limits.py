"""Checks a job against the limits of a profile, of its partitions and of its nodes."""

from collections.abc import Sequence

from jobgen.errors import JobgenError, problem
from jobgen.profiles.resolve import Resolved
from jobgen.schedulers import Scheduler

_REQUESTED = {
    "request.nodes": "{} nodes",
    "request.gpus_per_node": "{} GPUs on each node",
    **dict.fromkeys(
        ("request.cpus_per_gpu", "request.cpus_per_node", "request.cpus_per_task"),
        "{} cores on each node",
    ),
    "request.memory": "{} of memory",
    "request.time": "a walltime of {}",
}


def limit_error(
    resolved: Resolved,
    path: str,
    amount: int | str,
    limit_path: str,
    limit: int | str,
    others: Sequence[str] = (),
    more: str = "",
) -> JobgenError:
    """The error for a job above a limit; `path` and `limit_path` are the keys of both values.

    `others` are partitions or queues that allow the job; `more` is the end of the hint.
    """
    has = f"profile {resolved.name} has at most"
    if limit_path in ("node.cpus", "node.memory"):
        has, more = "a node has", "; `all` requests all of it" * (limit_path == "node.memory")
    elif others:
        option = "-q" if resolved.profile.scheduler == "pbs" else "-p"
        more = f"; {option} {' or '.join(others[:3])} allows it"
    elif limit_path == "node.gpus" and limit == 0:
        more = f"; if a node has GPUs, write --set node.gpus={amount} --set node.gpu=nvidia, or amd"
    text = f"{_REQUESTED[path].format(amount)} requested, {has} {limit}"
    hint = f"{limit_path} is set at {resolved.origin(limit_path)}{more}"
    return problem(resolved.origins.get(path, "jobgen's default"), text, "limit", hint)


def check_limit(resolved: Resolved, scheduler: Scheduler, key: str) -> None:
    """Raise JobgenError if the job requests more nodes or time (`key`) than its partition allows.

    The error names partitions or queues that allow the job.
    """
    profile = resolved.profile
    if not any(profile.limits):
        return
    if above := _above(resolved, scheduler, key, profile.partition or profile.queue):
        others = [
            name
            for name in profile.limits.partitions
            if not any(_above(resolved, scheduler, each, name) for each in ("nodes", "time"))
        ]
        amount = _requested(resolved, key)
        raise limit_error(resolved, f"request.{key}", amount or 0, *above, others)


def _requested(resolved: Resolved, key: str) -> int | str | None:
    request = resolved.profile.request
    return request.nodes + request.spares if key == "nodes" else request.time


def _above(
    resolved: Resolved, scheduler: Scheduler, key: str, partitions: str | None
) -> tuple[str, int | str] | None:
    """The path and the value of the first exceeded limit; None if a partition allows the job."""

    def size(path: str, value: int | str) -> int:
        if isinstance(value, int):
            return value
        return walltime_seconds(resolved, scheduler, path, value)

    requested = _requested(resolved, key)
    limits = [
        (f"{path}.{key}", getattr(each, key))
        for path, each in resolved.profile.limits.of(partitions)
    ]
    is_above = all(
        requested and most and size(f"request.{key}", requested) > size(path, most)
        for path, most in limits
    )
    return limits[0] if is_above else None


def walltime_seconds(resolved: Resolved, scheduler: Scheduler, path: str, text: str) -> int:
    """Returns the seconds of a walltime; the scheduler decides what the text means."""
    seconds = scheduler.seconds(text)
    if not seconds:
        message = f"{resolved.profile.scheduler} cannot read the walltime {text!r:.40}"
        if seconds == 0:
            message = "a walltime of 0, which would be no limit at all"
        raise problem(resolved.origin(path), message, "walltime", scheduler.time_rule_in_words)
    return seconds
