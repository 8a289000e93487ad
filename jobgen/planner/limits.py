"""Refuses jobs beyond a limit of the cluster, and those for a machine that has ended."""

from collections.abc import Mapping, Sequence
from time import strftime

from jobgen.errors import JobgenError, problem
from jobgen.profiles.keys.limits import JobLimits
from jobgen.profiles.model import Profile
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
    more: str = "",
) -> JobgenError:
    """The error for a job above a limit; `path` and `limit_path` are the keys of both values.

    `more` is the end of the hint.
    """
    requested = _REQUESTED[path]
    has = f"profile {resolved.name} has at most"
    if limit_path.endswith(".min_nodes"):
        has = f"profile {resolved.name} has at least"
    elif limit_path.startswith("limits.") and limit_path.endswith(".gpus"):
        requested = "{} GPUs on all nodes together"
    elif ".time_by_nodes." in limit_path:
        limit = f"{limit} for up to {limit_path.rpartition('.')[2]} nodes"
    if limit_path in ("node.cpus", "node.memory"):
        has, more = "a node has", "; `all` requests all of it" * (limit_path == "node.memory")
    elif limit_path == "node.gpus" and limit == 0:
        more = f"; if a node has GPUs, write --set node.gpus={amount} --set node.gpu=nvidia, or amd"
    text = f"{requested.format(amount)} requested, {has} {limit}"
    hint = f"{limit_path} is set at {resolved.origin(limit_path)}{more}"
    return problem(resolved.origins.get(path, "jobgen's default"), text, "limit", hint)


_LIMITED = ("nodes", "min_nodes", "gpus", "time")  # keys of `limits`


def check_limit(resolved: Resolved, scheduler: Scheduler, key: str) -> None:
    """Raise JobgenError if the job is beyond the limit `key` of its partition, queue or QOS.

    The error names others that allow the job.
    """
    profile = resolved.profile
    if not any(profile.limits):
        return
    if beyond := _beyond(resolved, scheduler, key, profile.limits_of_job):
        amount, path = _requested(resolved, key)
        more = _other_places(resolved, scheduler, beyond[0])
        raise limit_error(resolved, path, amount or 0, *beyond, more)


def _other_places(resolved: Resolved, scheduler: Scheduler, limit_path: str) -> str:
    """The end of a hint: others that allow the job, or where the limit of the job's own may be."""
    profile = resolved.profile

    def allowing(option: str, profiles: Mapping[str, Profile]) -> list[str]:
        names = [name for name in profiles if _allows(resolved, scheduler, profiles[name])]
        return [f"{option} {' or '.join(names[:3])}"] if names else []

    partitions = {each: profile.with_place(each, None) for each in profile.limits.partitions}
    found = allowing("-q" if profile.scheduler == "pbs" else "-p", partitions)
    found += allowing(
        "--qos", {each: profile.with_place(None, each) for each in profile.limits.qos}
    )
    if found:
        return f"; {', or '.join(found)} allows it"
    mark = resolved.origins.get("queue" if profile.queue else "partition")
    if mark and not mark.line and limit_path.count(".") == 1:
        place = profile.queue or profile.partition
        return f"; if {place} has another limit, set limits.partitions.{place}{limit_path[6:]}"
    return ""


def _allows(resolved: Resolved, scheduler: Scheduler, profile: Profile) -> bool:
    """Whether the limits of a profile with another place allow the job."""
    limits = profile.limits_of_job
    return not any(_beyond(resolved, scheduler, key, limits) for key in _LIMITED)


def _requested(resolved: Resolved, key: str) -> tuple[int | str | None, str]:
    """What the job requests of that which a limit is for, and the path of its value."""
    request = resolved.profile.request
    if key == "time":
        return request.time, "request.time"
    nodes = _nodes(resolved)
    amount = nodes * resolved.profile.gpus_per_node if key == "gpus" else nodes
    return amount, "request.nodes"


def _nodes(resolved: Resolved) -> int:
    """The nodes that the job requests, with those in reserve."""
    request = resolved.profile.request
    return request.nodes + request.spares


def _beyond(
    resolved: Resolved, scheduler: Scheduler, key: str, of_places: Sequence[JobLimits]
) -> tuple[str, int | str] | None:
    """The path and the value of the first limit that excludes the job; None if a place allows it.

    `of_places` are the limits in each partition or queue that the job is for.
    """

    def size(path: str, value: int | str) -> int:
        if isinstance(value, int):
            return value
        return walltime_seconds(resolved, scheduler, path, value)

    requested, requested_path = _requested(resolved, key)
    limits = [each.find(key, _nodes(resolved)) for each in of_places]
    sign = -1 if key == "min_nodes" else 1
    is_beyond = all(
        requested and limit and sign * size(requested_path, requested) > sign * size(path, limit)
        for path, limit in limits
    )
    return limits[0] if is_beyond else None


def check_not_retired(resolved: Resolved) -> None:
    """Raise JobgenError if the machine of the profile has ended."""
    profile, is_over = resolved.profile, has_ended(resolved.profile.ends)
    if profile.state != "retired" and not is_over:
        return
    when = f" on {profile.ends}" if is_over else ""
    hint = f"use {profile.successor}" if profile.successor else "choose another profile"
    if profile.state != "retired":
        hint += "; if it has not ended: --set ends=null"
    key = "state" if profile.state == "retired" else "ends"
    text = f"the machine of profile {resolved.name} has ended{when}"
    raise problem(resolved.origin(key), text, "retired", hint)


def has_ended(day: str | None) -> bool:
    """Whether a machine's last day is over."""
    return day is not None and day < strftime("%Y-%m-%d")


def walltime_seconds(resolved: Resolved, scheduler: Scheduler, path: str, text: str) -> int:
    """Returns the seconds of a walltime; the scheduler decides what the text means."""
    seconds = scheduler.seconds(text)
    if not seconds:
        message = f"{resolved.profile.scheduler} cannot read the walltime {text!r:.40}"
        if seconds == 0:
            message = "a walltime of 0, which would be no limit at all"
        raise problem(resolved.origin(path), message, "walltime", scheduler.time_rule_in_words)
    return seconds
