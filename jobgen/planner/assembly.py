"""Puts the Plan together: what the profile decides, then what the job adds."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from jobgen.errors import JobgenError, Problem, problem
from jobgen.planner import amounts, refusals, variables
from jobgen.planner.container_options import passed_variables, planned_container
from jobgen.planner.program_refusals import check_program
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.plan import OFI, Directive, Launch, Network, Plan, Request, Software
from jobgen.planning.program import Program, make_program
from jobgen.profiles.conflicts import at_origin
from jobgen.profiles.model import Profile
from jobgen.profiles.records import extend
from jobgen.profiles.resolve import Resolved
from jobgen.schedulers import COMMANDS, Scheduler, get_scheduler
from jobgen.schedulers.mpiexec import binding_options, depth_problem
from jobgen.schedulers.starters import MPIEXEC, starter_of

BYHAND_TEMPLATE = "byhand.sh.j2"
BYHAND_NAME = "[A-Za-z0-9][A-Za-z0-9_.-]*"
TORCHRUN_PORT = 29400  # torchrun's own default


def make_plan(job: Job, resolved: Resolved, hosts: tuple[str, ...] = ()) -> Plan:
    """The plan for a job on a cluster; `hosts` are its nodes, if they are known already.

    Raises JobgenError for what the cluster does not have or the scheduler cannot read, with the
    limit and the place where it was set.
    """
    scheduler = refusals.scheduler_of(job, resolved)
    with _origins(resolved):
        base = _base_plan(resolved, job.command, job.shared is not None)
    program = make_program(
        job.program, resolved.profile.trainer, job.trainer is not None, resolved.origin("trainer")
    )
    environment = variables.with_user_variables(base.software.environment, job.environment)
    if job.command == "byhand":
        environment = variables.values_in_one_step(environment)
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
        network=base.network._replace(
            socket_variables=variables.socket_variables(base, environment)
        ),
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


def _base_plan(resolved: Resolved, command: str, shared: bool) -> Plan:
    """What the profile and its overrides decide, whatever program the job runs."""
    profile = resolved.profile
    scheduler = get_scheduler(str(profile.scheduler))
    by_hand = command == "byhand"
    request = _request(resolved, scheduler, shared)
    refusals.check_launch(resolved, scheduler, request.nodes, by_hand)
    refusals.check_gpus_of_container(resolved, request.gpus_per_node)
    launch = _launch(resolved, scheduler, request, by_hand)
    return Plan(
        command=(),
        profile=resolved.name,
        description=profile.description,
        fingerprint=resolved.fingerprint,
        scheduler=str(profile.scheduler),
        template=BYHAND_TEMPLATE if by_hand else scheduler.TEMPLATE,
        array_index=scheduler.ARRAY_INDEX,
        node=profile.node,
        request=request,
        software=_software(resolved, request, launch.processes_per_node),
        network=Network(profile.network.interface or (), _port(resolved, by_hand)),
        launch=launch,
    )


def _request(resolved: Resolved, scheduler: Scheduler, shared: bool) -> Request:
    profile, request = resolved.profile, resolved.profile.request
    nodes, gpus = amounts.nodes(resolved, scheduler), amounts.gpus_per_node(resolved)
    processes = profile.launch.processes_per_node or max(gpus, 1)
    tasks = processes if profile.launch.launcher in ("srun", "mpiexec") else 1
    cores = amounts.cores(resolved, gpus, processes, tasks)
    return extend(
        Request,
        request,
        partition=profile.partition,
        queue=profile.queue,
        account=profile.account,
        nodes=nodes,
        min_nodes=request.min_nodes or nodes,
        tasks_per_node=tasks,
        cpus_per_task=_cores_of_task(scheduler, cores, tasks),
        gpus_per_node=gpus,
        chunk=tuple(request.chunk.items()),
        memory=amounts.memory(resolved, shared),
        time=amounts.walltime(resolved, scheduler),
        mail_on=_mail_on(profile),
        directives=_directives(request.directives, "request.directives"),
        array=None,
        after=(),
    )


def _with_options(request: Request, job: Job) -> Request:
    """The request with the options that no profile has."""
    for text in job.directives:
        refusals.check_no_variable("--directive", text)
    directives = request.directives + _directives(job.directives, "--directive")
    return extend(Request, request, array=job.array, after=job.after, directives=directives)


def _mail_on(profile: Profile) -> tuple[str, ...]:
    if profile.request.mail_on is None:
        return ("end", "fail") if profile.request.mail else ()
    return profile.request.mail_on


def _launch(resolved: Resolved, scheduler: Scheduler, request: Request, by_hand: bool) -> Launch:
    launch = resolved.profile.launch
    step_options, rank_options = scheduler.step_options(resolved.profile, request)
    starter = starter_of(resolved.profile, scheduler.STARTERS)
    return extend(
        Launch,
        launch,
        launcher="torchrun" if by_hand else launch.launcher,
        rendezvous=launch.rendezvous if request.nodes > 1 else "standalone",
        starter=starter,
        processes_per_node=launch.processes_per_node or max(request.gpus_per_node, 1),
        signal=amounts.signal(resolved, scheduler, request.time),
        step_options=step_options,
        rank_options=rank_options,
        mpiexec_options=_mpiexec_options(resolved.profile, starter, request),
    )


def _cores_of_task(scheduler: Scheduler, cores: int | None, tasks: int) -> int | None:
    """Slurm counts the cores of a task; PBS those of a chunk, which is a node's."""
    return max(1, cores // (tasks if "srun" in scheduler.LAUNCHERS else 1)) if cores else None


def _mpiexec_options(profile: Profile, starter: str, request: Request) -> tuple[str, ...]:
    launch, ranks = profile.launch, request.tasks_per_node
    if launch.launcher != "mpiexec" or starter not in MPIEXEC:
        return ()
    cores = request.cpus_per_task and max(1, request.cpus_per_task // ranks)
    if found := depth_problem(launch.cpu_bind, ranks, request.cpus_per_task):
        raise problem("launch.cpu_bind", found, "limit", "depth, the share of each rank")
    bind = binding_options(starter, launch.cpu_bind, ranks, cores)
    return (*bind, *launch.mpiexec_options)


def _software(resolved: Resolved, request: Request, processes: int) -> Software:
    profile, software = resolved.profile, resolved.profile.software
    libraries = {
        OFI: software.aws_ofi_nccl_root,
        "NCCL_ROOT": software.nccl_root,
    }
    cores = amounts.cores(resolved, request.gpus_per_node, processes, request.tasks_per_node)
    threads = max(1, cores // processes) if cores else None
    return extend(
        Software,
        software,
        libraries=tuple((name, path) for name, path in libraries.items() if path),
        environment=variables.profile_variables(profile, request, processes, threads),
        stage_from=software.venv if software.stage == "venv" else software.stage_from,
        container=None,
        passed=(),
        workspace=None,
    )


def _with_files(plan: Plan, resolved: Resolved, job: Job, scheduler: Scheduler) -> Plan:
    """The plan with its workspace and its container."""
    profile = resolved.profile
    # A packaged trainer comes with the script. By hand, nobody fetches anything.
    needs_workspace = job.command != "byhand" and plan.program.kind != "trainer"
    workspace = profile.workspace if needs_workspace else None
    software = extend(Software, plan.software, workspace=workspace)
    if profile.software.container:
        refusals.check_container_values(
            job.program, plan.software.environment, resolved, job.command == "byhand"
        )
        software = extend(
            Software,
            software,
            container=planned_container(plan, profile, workspace),
            passed=passed_variables(plan, profile, workspace, scheduler.VARIABLES, job.command),
        )
    return plan._replace(software=software)


def _directives(texts: tuple[str, ...], place: str) -> tuple[Directive, ...]:
    return tuple(Directive(text, place) for text in texts)


def _port(resolved: Resolved, by_hand: bool) -> int | None:
    profile, mark = resolved.profile, resolved.origins.get("network.port")
    if by_hand:  # there is no job whose id a port could be computed from
        return profile.network.port or TORCHRUN_PORT
    is_option = mark is not None and mark.file.startswith("--set")  # for this job
    return profile.network.port if profile.request.exclusive or is_option else None


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
