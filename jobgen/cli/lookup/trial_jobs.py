"""What is refused only when a job is planned, for `jobgen profiles validate`."""

from collections.abc import Iterable, Iterator

from jobgen.errors import JobgenError, Mark, Problem
from jobgen.generator import Generator
from jobgen.planning.job_options import Job
from jobgen.profiles.request_keys import Limits, PartitionLimits
from jobgen.profiles.resolve import Resolved
from jobgen.schedulers import COMMANDS

Found = list[Problem]


def refused_jobs(generator: Generator, name: str) -> tuple[Found, Found]:
    """What is refused in each job of a profile that gives no option, and what only in some.

    Options may override the number of nodes: what is refused for one node alone, or for two, is no
    mistake of the profile.
    """
    resolved = generator.profiles.load(name)
    if not resolved.profile.scheduler:  # it is a base
        return [], []
    job = _job(resolved, name)
    own = _refusals(generator, resolved, job)
    if resolved.profile.request.nodes > 1:
        return _at_file(own, resolved, name), []
    two = _refusals(generator, resolved, job._replace(nodes="2"))
    for_two = {each for each in two if each.mark != Mark("-N")}  # the cluster may have one node
    if own and two:
        return _at_file(own | for_two, resolved, name), []
    marked = [*_marked("one node", own), *_marked("two nodes", for_two)]
    return [], _at_file(marked, resolved, name)


def _job(resolved: Resolved, name: str) -> Job:
    """A job without options, except for a walltime, which a profile may leave to each job."""
    profile = resolved.profile
    command = COMMANDS[str(profile.scheduler)]
    needs_time = command != "local" and not profile.request.time
    _, limits = _limits(resolved)
    return Job(command, name, time=limits.time or "24:00:00" if needs_time else None)


def _limits(resolved: Resolved) -> tuple[str, Limits | PartitionLimits]:
    """The limits of the profile's own partition or queue, with their path."""
    profile = resolved.profile
    return profile.limits.of(profile.partition or profile.queue)[0]


def _refusals(generator: Generator, resolved: Resolved, job: Job) -> set[Problem]:
    """What is refused in a job with a program and, unless nothing starts it, with the trainer."""
    jobs = [job._replace(program=("train.py",))]
    if resolved.profile.launch.launcher != "node":
        jobs.append(job)
    found: set[Problem] = set()
    for each in jobs:
        try:
            generator.plan(each)
        except JobgenError as error:
            found.update(error.problems)
    return found


def _marked(nodes: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    return (each._replace(text=f"for {nodes}: {each.text}") for each in problems)


def _at_file(problems: Iterable[Problem], resolved: Resolved, name: str) -> Found:
    """The problems at places of the profile, where they are at an option or a default."""
    origins, keys = resolved.origins, {"-N": "request.nodes", "-t": f"{_limits(resolved)[0]}.time"}
    marks = {str(mark): mark for mark in origins.values()}

    def mark_of(place: str) -> Mark:
        key = keys.get(place) or place.lstrip("-").replace("-", "_")
        known_mark = marks.get(place) or origins.get(key) or origins.get(f"request.{key}")
        return known_mark or Mark(name)

    return sorted(
        each if each.mark.line else each._replace(mark=mark_of(each.mark.file)) for each in problems
    )
