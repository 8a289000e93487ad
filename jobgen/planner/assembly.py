"""Puts the Plan together: what the job adds to what the profile decides (`base_plan`)."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from jobgen.errors import JobgenError, Problem, problem
from jobgen.planner import refusals
from jobgen.planner.base_plan import base_plan, directives_at
from jobgen.planner.container_options import (
    check_container_values,
    passed_variables,
    planned_container,
)
from jobgen.planner.program_refusals import check_program
from jobgen.planner.variables import rank_variables, socket_variables
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.plan import Plan, Request, Software
from jobgen.planning.program import Program, make_program
from jobgen.profiles.conflicts import at_origin
from jobgen.profiles.records import extend
from jobgen.profiles.resolve import Resolved
from jobgen.schedulers import COMMANDS, Scheduler

BYHAND_NAME = "[A-Za-z0-9][A-Za-z0-9_.-]*"


def make_plan(job: Job, resolved: Resolved, hosts: tuple[str, ...] = ()) -> Plan:
    """The plan for a job on a cluster; `hosts` are its nodes, if they are known already.

    Raises JobgenError for what the cluster does not have or the scheduler cannot read, with the
    limit and the place where it was set.
    """
    scheduler = refusals.scheduler_of(job, resolved)
    with _origins(resolved):
        base = base_plan(resolved, job.command == "byhand", job.shared is not None)
    program = make_program(
        job.program, resolved.profile.trainer, job.trainer is not None, resolved.origin("trainer")
    )
    environment = rank_variables(base, resolved.profile, job)
    request = _with_options(base.request, job)
    check_program(program, base, resolved, job.command == "byhand")
    refusals.check_size(program, environment, resolved.profile.software)
    plan = base._replace(
        command=tuple(command_words(job)),
        program=program,
        name=_name(job, program, scheduler),
        has_own_name=job.name is not None,
        hosts=hosts,
        request=request,
        network=base.network._replace(socket_variables=socket_variables(base, environment)),
        software=extend(Software, base.software, environment=environment),
    )
    refusals.check_submitted(plan)
    with _origins(resolved):
        refusals.check_order(plan)
    plan = _with_files(plan, resolved, job, scheduler)
    if job.command not in COMMANDS.values():
        return plan
    with _origins(resolved):
        return plan._replace(directives=scheduler.directives(plan))


def command_words(job: Job) -> list[str]:
    """The words of the command that makes this job's script, in one fixed spelling and order."""
    words = ["jobgen", job.command]
    for name, row in job_options(job.command):
        value = getattr(job, name)
        if value is None or value == ():
            continue
        if not row.metavar:
            words += [row.flags[0]] if value else []
            continue
        for text in value if row.repeatable else [value]:
            # A value that begins with - would be taken for an option.
            joined = text.startswith("-")
            words += [f"{row.flags[-1]}={text}"] if joined else [row.flags[0], text]
    return [*words, "--", *job.program] if job.program else words


def _with_options(request: Request, job: Job) -> Request:
    """The request with the options that no profile has."""
    for text in job.directives:
        refusals.check_no_variable("--directive", text)
    directives = request.directives + directives_at("--directive", job.directives)
    return extend(Request, request, array=job.array, after=job.after, directives=directives)


def _with_files(plan: Plan, resolved: Resolved, job: Job, scheduler: Scheduler) -> Plan:
    """The plan with its workspace and its container."""
    profile = resolved.profile
    # A packaged trainer comes with the script. By hand, nobody fetches anything.
    needs_workspace = job.command != "byhand" and plan.program.kind != "trainer"
    workspace = profile.workspace if needs_workspace else None
    software = extend(Software, plan.software, workspace=workspace)
    if profile.software.container:
        check_container_values(
            job.program, plan.software.environment, resolved, job.command == "byhand"
        )
        software = extend(
            Software,
            software,
            container=planned_container(plan, profile, workspace),
            passed=passed_variables(plan, profile, workspace, scheduler.VARIABLES, job.command),
        )
    return plan._replace(software=software)


def _name(job: Job, program: Program, scheduler: Scheduler) -> str:
    if job.name is None:
        last = program.name.rstrip("/").rpartition("/")[2].removesuffix(".py")
        rule = BYHAND_NAME if job.command == "byhand" else scheduler.NAME_RULE
        return last if re.fullmatch(rule, last) else "job"
    refusals.check_no_variable("-J", job.name)
    if not re.fullmatch(scheduler.NAME_RULE, job.name):
        text = f"{job.name!r:.80} is not a valid job name"
        raise problem("-J", text, "value", scheduler.NAME_RULE_IN_WORDS)
    return job.name


@contextmanager
def _origins(resolved: Resolved) -> Iterator[None]:
    """Add to an error the place where each value of the profile that it names was set."""
    try:
        yield
    except JobgenError as error:
        raise JobgenError(_placed(each, resolved) for each in error.problems) from None


def _placed(each: Problem, resolved: Resolved) -> Problem:
    """A problem at its value's origin; in a file, its hint names keys in the place of options."""
    if resolved.origins.get(each.mark.file, each.mark).line:
        from jobgen.planning.key_words import with_paths  # only a mistake needs it

        each = each._replace(hint=with_paths(each.hint))
    return at_origin(each, resolved.origins)
