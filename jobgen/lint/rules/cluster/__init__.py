"""Rules about what the cluster of a profile has, and what a script asks for."""

from collections.abc import Sequence

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Findings, Script, finding_at
from jobgen.profiles.model import Profile
from jobgen.schedulers import get_scheduler


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
    node, limits, gpus = profile.node, profile.limits, script.gpus_per_node
    cores = script.directive("cpus-per-task")
    cores_per_node = (script.number("cpus-per-task") or 0) * (script.number("ntasks-per-node") or 1)
    most_gpus = limits.gpus_per_node or node.gpus
    for place, count, text, most in (
        (gpus, gpus.count if gpus else 0, "GPUs per node, but a node has", most_gpus),
        (cores, cores_per_node, "cores per node, but a node has", node.cpus),
    ):
        if place and most and count > most:
            yield finding_at(place, f"{count} {text} {most}", f"at most {most}")
    yield from _of_partition(script, profile)


def _of_partition(script: Script, profile: Profile) -> Findings:
    """Nodes and time above the limits of each partition or queue that the job may get."""
    own, nodes = script.directive("partition", "q"), script.nodes_directive
    limits = profile.limits.of(own.value if own else profile.partition or profile.queue)
    most = _highest([each.nodes for _, each in limits])
    if nodes and script.nodes and most and script.nodes > most:
        text = f"{script.nodes} nodes, but a job may have {most}"
        yield finding_at(nodes, text, f"at most {most}, or another partition")
    seconds = get_scheduler(script.scheduler).seconds
    longest = _highest([seconds(each.time or "") for _, each in limits])
    time = script.directive("time")
    walltimes = [(time, time.value)] if time else []
    for place in script.active_directives:
        walltimes += [(place, value) for name, value in place.resources if name == "walltime"]
    for place, walltime in walltimes[-1:]:  # the last one counts
        if longest and (seconds(walltime) or 0) > longest:
            allowed = next(each.time for _, each in limits if seconds(each.time or "") == longest)
            text = f"a walltime of {walltime}, but a job may have {allowed}"
            yield finding_at(place, text, f"at most {allowed}, or another partition or queue")


def _highest(limits: Sequence[int | None]) -> int:
    """0 if there is no limit in one of them."""
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
