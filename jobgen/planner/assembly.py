"""Puts the Plan together: what the profile decides, then what the job adds."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from jobgen.errors import JobgenError, problem
from jobgen.planner import amounts, refusals
from jobgen.planner.containers import passed_variables, planned_container
from jobgen.planner.variables import (
    profile_variables,
    socket_variables,
    values_in_one_step,
    with_user_variables,
)
from jobgen.planning.command_line import command_words
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Directive, Launch, Network, Node, Plan, Request, Software
from jobgen.planning.program import Program, make_program
from jobgen.profiles.model import Profile
from jobgen.profiles.resolve import Resolved
from jobgen.schedulers import COMMANDS, Scheduler, get_scheduler
from jobgen.schedulers.mpiexec import binding_options, depth_problem
from jobgen.schedulers.starters import MPIEXEC, starter_of

BYHAND_TEMPLATE = "byhand.sh.j2"
BYHAND_NAME = "[A-Za-z0-9][A-Za-z0-9_.-]*"
# What a job requests as the profile has it.
COPIED = (
    "qos reservation constraint gpu_option place exclusive memory_per_cpu memory_per_gpu hint"
    " threads_per_core licenses exclude chdir output error log_folder live_output mail"
).split()
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
    environment = with_user_variables(base.software.environment, job.environment)
    if job.command == "byhand":
        environment = values_in_one_step(environment)
    for text in job.directives:
        refusals.check_no_variable("--directive", text)
    refusals.check_program(program, base.launch.launcher, resolved, job.command == "byhand")
    refusals.check_size(program, environment, resolved.profile.software)
    plan = base._replace(
        command=tuple(command_words(job)),
        program=program,
        name=_name(job, program, scheduler),
        has_own_name=job.name is not None,
        hosts=hosts,
        request=base.request._replace(
            array=job.array,
            after=job.after,
            directives=base.request.directives + _directives(job.directives, "--directive"),
        ),
        network=base.network._replace(socket_variables=socket_variables(base, environment)),
        software=base.software._replace(environment=environment),
    )
    refusals.check_submitted(plan)
    plan = _with_files(plan, resolved, job, scheduler)
    if job.command not in COMMANDS.values():
        return plan
    with _origins(resolved):
        return plan._replace(directives=scheduler.directives(plan))


@lru_cache(256)  # many jobs have the profile and its overrides in common
def _base_plan(resolved: Resolved, command: str, shared: bool) -> Plan:
    """What the profile and its overrides decide, whatever program the job runs."""
    profile = resolved.profile
    scheduler = get_scheduler(str(profile.scheduler))
    by_hand = command == "byhand"
    request = _request(resolved, scheduler, shared, by_hand)
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
        node=Node(profile.node.gpu, profile.node.gpu_type, profile.node.arch, profile.node.memory),
        request=request,
        software=_software(profile, request, launch.processes_per_node),
        network=Network(profile.network.interface or (), _port(resolved, by_hand)),
        launch=launch,
    )


def _request(resolved: Resolved, scheduler: Scheduler, shared: bool, by_hand: bool) -> Request:
    profile, request = resolved.profile, resolved.profile.request
    nodes, gpus = amounts.nodes(resolved), amounts.gpus_per_node(resolved)
    launcher = "torchrun" if by_hand else profile.launch.launcher
    processes = profile.launch.processes_per_node or max(gpus, 1)
    tasks = processes if launcher in ("srun", "mpiexec") else 1
    cores = amounts.cores(profile, gpus, processes)
    return Request(
        **{name: getattr(request, name) for name in COPIED},
        partition=profile.partition,
        queue=profile.queue,
        account=profile.account,
        nodes=nodes,
        min_nodes=request.min_nodes or nodes,
        spares=request.spares,
        tasks_per_node=tasks,
        cpus_per_task=_cores_of_task(scheduler, cores, tasks),
        gpus_per_node=gpus,
        chunk=tuple(request.chunk.items()),
        memory=amounts.memory(resolved, shared),
        time=amounts.walltime(resolved, scheduler),
        mail_on=_mail_on(profile),
        directives=_directives(request.directives, "request.directives"),
    )


def _mail_on(profile: Profile) -> tuple[str, ...]:
    if profile.request.mail_on is None:
        return ("end", "fail") if profile.request.mail else ()
    return profile.request.mail_on


def _launch(resolved: Resolved, scheduler: Scheduler, request: Request, by_hand: bool) -> Launch:
    launch = resolved.profile.launch
    step_options, rank_options = scheduler.step_options(resolved.profile, request)
    starter = starter_of(resolved.profile, scheduler.STARTERS)
    return Launch(
        launcher="torchrun" if by_hand else launch.launcher,
        rendezvous=launch.rendezvous if request.nodes > 1 else "standalone",
        starter=starter,
        processes_per_node=launch.processes_per_node or max(request.gpus_per_node, 1),
        max_restarts=launch.max_restarts,
        join_timeout=launch.join_timeout,
        stop_grace=launch.stop_grace,
        requeue=launch.requeue,
        exclude_at_most=launch.exclude_at_most,
        signal=amounts.signal(resolved, scheduler, request.time),
        cpu_bind=launch.cpu_bind,
        step_options=step_options,
        rank_options=rank_options,
        numa_binding=launch.numa_binding,
        plain=launch.plain,
        stall=launch.stall,
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


def _software(profile: Profile, request: Request, processes: int) -> Software:
    software = profile.software
    libraries = {
        "AWS_OFI_NCCL_ROOT": software.aws_ofi_nccl_root,
        "NCCL_ROOT": software.nccl_root,
    }
    cores = amounts.cores(profile, request.gpus_per_node, processes)
    threads = max(1, cores // processes) if cores else None
    return Software(
        modules=software.modules,
        venv=software.venv,
        conda=software.conda,
        libraries=tuple((name, path) for name, path in libraries.items() if path),
        commands=software.commands,
        after_modules=software.after_modules,
        once_per_node=software.once_per_node,
        jobgen=software.jobgen,
        environment=profile_variables(profile, request, processes, threads),
        stage=software.stage,
        stage_from=software.venv if software.stage == "venv" else software.stage_from,
        stage_to=software.stage_to,
    )


def _with_files(plan: Plan, resolved: Resolved, job: Job, scheduler: Scheduler) -> Plan:
    """The plan with its workspace and its container."""
    profile = resolved.profile
    # A packaged trainer comes with the script. By hand, nobody fetches anything.
    needs_workspace = job.command != "byhand" and plan.program.kind != "trainer"
    workspace = profile.workspace if needs_workspace else None
    software = plan.software._replace(workspace=workspace)
    if profile.software.container:
        refusals.check_container_values(
            job.program, plan.software.environment, resolved, job.command == "byhand"
        )
        software = software._replace(
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
        origins = resolved.origins
        raise JobgenError(
            each._replace(mark=origins.get(each.mark.file, each.mark)) for each in error.problems
        ) from None
