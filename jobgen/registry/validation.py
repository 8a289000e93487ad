"""Checks a profile as a whole: its values, its sources, and the jobs that it makes."""

from collections.abc import Iterable

from jobgen.errors import JobgenError, Mark, Problem, problem
from jobgen.generator import Generator
from jobgen.paths import is_same_file
from jobgen.planner.advice import profile_advice
from jobgen.planner.limits import has_ended
from jobgen.planning.job_options import Job
from jobgen.profiles.resolve import Resolved
from jobgen.profiles.yaml_tree import Map, Scalar
from jobgen.schedulers import COMMANDS
from jobgen.sources.check import source_problems


def check_profile(generator: Generator, file: str) -> list[Problem]:
    """Returns the warnings about the profile in a file.

    Raises JobgenError with all problems of the profile, and with those that follow them.
    """
    try:
        warnings = profile_advice(generator.profiles.load(file))
        if wrong_sources := source_problems(generator.profiles.tree_of(file)):
            raise JobgenError(wrong_sources)
        _check_successor(generator, file)
        refused, refused_for_some = _refused_jobs(generator, file)
        if refused:
            raise JobgenError(refused)
        return [*warnings, *refused_for_some]
    except JobgenError as error:
        places = {"--profile": Mark(f"FILE {file}")}
        later = generator.later_problems(Job("", file, program=("train.py",)), error)
        found = [
            each._replace(mark=places.get(each.mark.file, each.mark))
            for each in (*error.problems, *later)
            if each.code != "no-scheduler"  # the profile may be a base for others
        ]
        raise JobgenError(found) if found else error from None


def _refused_jobs(generator: Generator, name: str) -> tuple[list[Problem], list[Problem]]:
    """The problems of all jobs of a profile without options, and those of only some sizes.

    Options may override the number of nodes, so a problem of one node only, or of two nodes only,
    is no mistake of the profile.
    """
    resolved = generator.profiles.load(name)
    if not resolved.profile.scheduler or _is_kept_for_its_name(generator, name):
        return [], []
    job = _trial_job(resolved, name)
    own = _refusals(generator, resolved, job)
    if resolved.profile.request.nodes > 1:
        return _at_file(own, resolved, name), []
    two = _refusals(generator, resolved, job._replace(nodes="2"))
    for_two = {each for each in two if each.mark != Mark("-N")}  # the cluster may have one node
    if own and two:
        return _at_file({*own, *for_two}, resolved, name), []
    sizes = {"one node": own, "two nodes": for_two}
    marked = [
        each._replace(text=f"for {size}: {each.text}")
        for size, found in sizes.items()
        for each in found
    ]
    return [], _at_file(marked, resolved, name)


def _own_value(generator: Generator, name: str, key: str) -> Scalar | None:
    """The value of a key that the file itself has, without its bases."""
    tree = generator.profiles.tree_of(name)
    value = tree.items.get(key) if isinstance(tree, Map) else None
    return value if isinstance(value, Scalar) else None


def _is_kept_for_its_name(generator: Generator, name: str) -> bool:
    """Whether the file itself says that its machine has ended: others that extend it do not."""
    state, ends = (_own_value(generator, name, key) for key in ("state", "ends"))
    return bool(state and state.value == "retired") or bool(ends and has_ended(ends.text))


def _check_successor(generator: Generator, name: str) -> None:
    """Raise JobgenError if the file names a successor that is no profile, or itself."""
    successor, profiles = _own_value(generator, name, "successor"), generator.profiles
    if successor and successor.value is not None:
        place = profiles.within
        found = profiles.find(successor.text, successor.mark, place)
        if is_same_file(found, profiles.find(name, Mark(name), place)):
            hint = "the profile of the machine that follows, or leave it out"
            raise problem(successor.mark, "a machine does not follow itself", "value", hint)


def _trial_job(resolved: Resolved, name: str) -> Job:
    """A job without options, but with a walltime, which a profile may leave to each job."""
    profile = resolved.profile
    command = COMMANDS[str(profile.scheduler)]
    needs_time = command != "local" and not profile.request.time
    _, longest = profile.limits_of_job[0].find("time", profile.request.nodes)
    time = longest or "24:00:00" if needs_time else None
    return Job(command, name, time=time, set_values=("software.code=null",))  # it has no program


def _refusals(generator: Generator, resolved: Resolved, job: Job) -> set[Problem]:
    """The problems of a job with a program and, if the launcher can start it, with the trainer."""
    found: set[Problem] = set()
    for program in ((), ("train.py",)):
        if program or resolved.profile.launch.launcher != "node":
            try:
                generator.plan(job._replace(program=program))
            except JobgenError as error:
                found.update(error.problems)
    return found


def _at_file(problems: Iterable[Problem], resolved: Resolved, name: str) -> list[Problem]:
    """The problems, with places in the profile instead of options or defaults."""
    profile, origins = resolved.profile, resolved.origins
    of_time, _ = profile.limits_of_job[0].find("time", profile.request.nodes)
    marks = {str(mark): mark for mark in origins.values()}

    def mark_of(place: str) -> Mark:
        keys = {"-N": "request.nodes", "-t": of_time}
        key = keys.get(place) or place.lstrip("-").replace("-", "_")
        return marks.get(place) or origins.get(key) or origins.get(f"request.{key}") or Mark(name)

    return sorted(
        each if each.mark.line else each._replace(mark=mark_of(each.mark.file)) for each in problems
    )
