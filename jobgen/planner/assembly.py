"""Puts the Plan together: the part that the profile decides (`amounts`), and the job's part.

The job's part is its program, the variables of its ranks, its workspace and its container.
"""

import re

from jobgen.errors import JobgenError, Problem, problem
from jobgen.planner import refusals
from jobgen.planner.amounts import base_plan, check_time_of_chain
from jobgen.planner.container_options import check_container_values, with_container
from jobgen.planner.program_refusals import check_program
from jobgen.planner.rank_variables import rank_variables, socket_variables
from jobgen.planning.host_list import NO_HOSTS, Hosts
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.plan import Directive, Plan, Request, Software
from jobgen.planning.program import Program, make_program
from jobgen.profiles.conflicts import at_origin
from jobgen.profiles.keys.software import Workspace
from jobgen.profiles.model import Profile
from jobgen.profiles.records import extend
from jobgen.profiles.resolve import Resolved
from jobgen.schedulers import COMMANDS, Scheduler

# Values of the profile that decide which environment a job has, and where.
_DECIDE_ENVIRONMENT = re.compile(
    r"software\.(lock|store|code|stage|venv|conda|container)|node(\.arch)?=|request\.chdir="
)
BYHAND_NAME = "[A-Za-z0-9][A-Za-z0-9_.-]*"


def make_plan(
    job: Job, resolved: Resolved, hosts: Hosts = NO_HOSTS, code: str | None = None
) -> Plan:
    """Returns the plan of a job on a cluster; `hosts` names the job's nodes, if they are known.

    `code` is the name of the copy of the job's code, if it has one.
    Raises JobgenError if the cluster cannot run the job, or the scheduler cannot read a value. The
    error names the limit, and the place where each value in its message was set.
    """
    try:
        return _make_plan(job, resolved, hosts, code)
    except JobgenError as error:
        raise JobgenError(_placed(each, resolved) for each in error.problems) from None


def _make_plan(job: Job, resolved: Resolved, hosts: Hosts, code: str | None) -> Plan:
    scheduler, by_hand = refusals.scheduler_of(job.command, resolved), job.command == "byhand"
    profile = resolved.profile
    base = base_plan(resolved, scheduler, by_hand, job.shared is not None)
    is_job = job.command in COMMANDS.values()
    base = _with_chain(base, resolved, job.command, is_job) if base.launch.chain else base
    program = make_program(
        job.program, profile.trainer, job.trainer is not None, resolved.origin("trainer")
    )
    environment = rank_variables(base, profile, job)
    request = _with_options(base.request, job, base.launch.chain)
    check_program(program, base, resolved, by_hand)
    refusals.check_size(program, environment, base.software, profile.software.container)
    plan = base._replace(
        command=tuple(command_words(job)),
        program=program,
        name=_name(job, program, scheduler),
        has_own_name=job.name is not None,
        hosts=hosts.names,
        slots=hosts.slots,
        request=request,
        network=base.network._replace(socket_variables=socket_variables(base, environment)),
        software=extend(
            Software,
            base.software,
            environment=environment,
            workspace=None if by_hand else _workspace(profile, program, code),
            build=_build_words(job) if profile.software.lock else (),
        ),
    )
    refusals.check_submitted(plan)
    refusals.check_order(plan)
    if profile.software.container:
        check_container_values(plan, resolved, by_hand)
        plan = with_container(plan, profile.software.container, scheduler.variables, by_hand)
    return plan._replace(directives=scheduler.directives(plan)) if is_job else plan


def _with_chain(base: Plan, resolved: Resolved, command: str, is_job: bool) -> Plan:
    """The plan of a chain, or without the chain of a profile if the command submits no script."""
    if is_job:
        check_time_of_chain(resolved, base.request.time)
        return base
    refusals.check_no_own_chain(resolved, command)
    return base._replace(launch=base.launch._replace(chain=None))


def _workspace(profile: Profile, program: Program, code: str | None) -> Workspace | None:
    """Returns the folder that has the program, if the job does not have it where it starts."""
    if program.kind == "trainer":  # the script carries it
        return None
    copy = Workspace(commit=code, folder=f"{profile.software.store}/code") if code else None
    return copy or profile.workspace


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


def _build_words(job: Job) -> tuple[str, ...]:
    """The words of the command that makes the environment of the job's lock."""
    words = ["jobgen", "store", "build", "--profile", job.profile or "local"]
    changes = [f"software.code={job.code}"] if job.code else []
    changes += filter(_DECIDE_ENVIRONMENT.match, job.set_values)
    return (*words, *(word for text in changes for word in ("--set", text)))


def _with_options(request: Request, job: Job, chain: int | None) -> Request:
    """Returns the request with those options of the job that are no keys of a profile."""
    if chain and job.array:
        text = "a chain is an array itself: its jobs run one after the other"
        raise problem("--array", text, "conflict", "one of --array and --chain")
    for text in job.directives:
        refusals.check_no_variable("--directive", text)
    own = tuple(Directive(text, "--directive") for text in job.directives)
    fields = (name for name, row in job_options(job.command) if not row.path)
    options = {name: getattr(job, name) for name in fields if name in Request._fields}
    options["directives"] = (*request.directives, *own)
    if chain:  # one at a time, in their order
        options["array"] = f"1-{chain}%1"
    return extend(Request, request, **options)


def _name(job: Job, program: Program, scheduler: Scheduler) -> str:
    if job.name is None:
        last = program.name.rstrip("/").rpartition("/")[2].removesuffix(".py")
        rule = BYHAND_NAME if job.command == "byhand" else scheduler.name_rule
        return last if re.fullmatch(rule, last) else "job"
    refusals.check_no_variable("-J", job.name)
    if not re.fullmatch(scheduler.name_rule, job.name):
        text = f"{job.name!r:.80} is not a valid job name"
        raise problem("-J", text, "value", scheduler.name_rule_in_words)
    return job.name


def _placed(each: Problem, resolved: Resolved) -> Problem:
    """Returns a problem at its value's origin; if a file is the origin, the hint names keys."""
    if resolved.origins.get(each.mark.file, each.mark).line:
        from jobgen.planning.key_words import with_paths  # only a mistake needs it

        each = each._replace(hint=with_paths(each.hint))
    return at_origin(each, resolved.origins)
