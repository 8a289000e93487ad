"""Decides the amounts of a job and the starter of its ranks, whatever program the job runs."""

from jobgen.errors import problem
from jobgen.planner.container_options import check_gpus_of_container
from jobgen.planner.limits import check_limit, check_not_retired, limit_error, walltime_seconds
from jobgen.planner.refusals import check_launch
from jobgen.planning.plan import OFI, Directive, Launch, Network, Plan, Request, Software
from jobgen.profiles.model import Profile
from jobgen.profiles.records import extend
from jobgen.profiles.resolve import Resolved
from jobgen.schedulers import Scheduler, starter_of
from jobgen.schedulers.mpiexec import MPIEXEC, binding_options, depth_problem

BYHAND_TEMPLATE = "byhand.sh.j2"
TORCHRUN_PORT = 29400  # torchrun's own default
REQUEUE_SIGNAL = 120  # seconds before the walltime, if the profile sets none
CHAIN_PAUSE = 90  # and stop_grace: how long a job of a chain may wait (machinery/job/chain.sh)
LEAST_TRAINING = 60  # seconds in which such a job can get further at all


def base_plan(resolved: Resolved, scheduler: Scheduler, by_hand: bool, shared: bool) -> Plan:
    """Returns the plan without the program; raises JobgenError if the cluster cannot run the job.

    `shared` says whether --shared is given.
    """
    profile = resolved.profile
    request = _request(resolved, scheduler, shared)
    check_launch(resolved, scheduler, request.nodes, by_hand)
    check_gpus_of_container(resolved, request)
    return Plan(
        command=(),
        profile=resolved.name,
        description=profile.description,
        fingerprint=resolved.fingerprint,
        scheduler=str(profile.scheduler),
        template=BYHAND_TEMPLATE if by_hand else scheduler.template,
        array_index=scheduler.array_index,
        node=profile.node,
        request=request,
        software=_software(profile),
        network=Network(profile.network.interface or (), _port(resolved, by_hand)),
        launch=_launch(resolved, scheduler, request, by_hand),
    )


def _request(resolved: Resolved, scheduler: Scheduler, shared: bool) -> Request:
    profile, request = resolved.profile, resolved.profile.request
    check_not_retired(resolved)
    check_limit(resolved, scheduler, "nodes")
    check_limit(resolved, scheduler, "min_nodes")
    gpus = gpus_per_node(resolved)
    check_limit(resolved, scheduler, "gpus")
    processes = profile.ranks_per_node
    tasks = processes if profile.launch.launcher in ("srun", "mpiexec") else 1
    cores = _cores(resolved, gpus, processes, tasks)
    if cores and "srun" in scheduler.launchers:  # Slurm counts per task, PBS per chunk (one node)
        cores = max(1, cores // tasks)
    memory = _memory(resolved, shared)
    check_limit(resolved, scheduler, "time")
    default_mail = ("end", "fail") if request.mail else ()
    return extend(
        Request,
        request,
        partition=profile.partition,
        queue=profile.queue,
        account=profile.account,
        min_nodes=request.min_nodes or request.nodes,
        whole_nodes=profile.has_whole_nodes,
        tasks_per_node=tasks,
        cpus_per_task=cores or None,
        gpus_per_node=gpus,
        chunk=tuple(request.chunk.items()),
        memory=memory,
        time=request.time and walltime_seconds(resolved, scheduler, "request.time", request.time),
        mail_on=default_mail if request.mail_on is None else request.mail_on,
        directives=tuple(Directive(text, "request.directives") for text in request.directives),
    )


def _launch(resolved: Resolved, scheduler: Scheduler, request: Request, by_hand: bool) -> Launch:
    launch = resolved.profile.launch
    starter = starter_of(resolved.profile, scheduler)
    every_step, of_ranks = scheduler.step_options(resolved.profile, request)
    return extend(
        Launch,
        launch,
        launcher="torchrun" if by_hand else launch.launcher,
        rendezvous=launch.rendezvous if request.nodes > 1 else "standalone",
        starter=starter,
        processes_per_node=resolved.profile.ranks_per_node,
        signal=_signal(resolved, scheduler, request.time),
        step_options=every_step,
        rank_options=of_ranks,
        mpiexec_options=_mpiexec_options(resolved.profile, starter, request),
    )


def _mpiexec_options(profile: Profile, starter: str, request: Request) -> tuple[str, ...]:
    launch, ranks = profile.launch, request.tasks_per_node
    if launch.launcher != "mpiexec" or starter not in MPIEXEC:
        return ()
    cores = request.cpus_per_task and max(1, request.cpus_per_task // ranks)
    if found := depth_problem(launch.cpu_bind, ranks, request.cpus_per_task):
        raise problem("launch.cpu_bind", found, "limit", "depth, the share of each rank")
    bind = binding_options(starter, launch.cpu_bind, ranks, cores)
    return (*bind, *launch.mpiexec_options)


def _software(profile: Profile) -> Software:
    software = profile.software
    libraries = {OFI: software.aws_ofi_nccl_root, "NCCL_ROOT": software.nccl_root}
    return extend(
        Software,
        software,
        libraries=tuple((name, path) for name, path in libraries.items() if path),
        environment=(),
        stage_from=software.venv if software.stage == "venv" else software.stage_from,
        container=None,
        passed=(),
        workspace=None,
        build=(),
    )


def _port(resolved: Resolved, by_hand: bool) -> int | None:
    profile, mark = resolved.profile, resolved.origins.get("network.port")
    if by_hand:  # there is no job whose id a port could be computed from
        return profile.network.port or TORCHRUN_PORT
    is_option = mark is not None and mark.file.startswith("--set")  # valid for this job alone
    return profile.network.port if profile.has_whole_nodes or is_option else None


def gpus_per_node(resolved: Resolved) -> int:
    """Returns the number of GPUs on each node; raises JobgenError if it is above a limit."""
    profile = resolved.profile
    limit_path, limit = profile.most_gpus_per_node
    amount = profile.gpus_per_node
    if amount > limit:
        nodes = profile.request.nodes
        share = amount // nodes if nodes > 1 and amount % nodes == 0 else 0
        more = f"; of all nodes together, that is -G {share}" if 0 < share <= limit else ""
        raise limit_error(resolved, "request.gpus_per_node", amount, limit_path, limit, more=more)
    return amount


def _cores(resolved: Resolved, gpus: int, processes: int, tasks: int) -> int | None:
    """Returns the cores of a job on a node with so many `gpus`, ranks (`processes`) and `tasks`.

    Without a request: all cores of a node without other jobs, the GPUs' share, or one a rank.
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
    if resolved.profile.has_whole_nodes or resolved.profile.scheduler == "local":
        return node.cpus
    if node.cpus is None:
        return None if gpus else processes
    share = node.cpus * gpus // node.gpus if node.gpus else 0
    return share or min(processes, node.cpus)


def _memory(resolved: Resolved, shared: bool) -> str | None:
    """The memory on each node: `all`, a size, or None for the site's default.

    With `shared` (--shared), `all` becomes None, since it would keep other jobs from the node.
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


def _signal(resolved: Resolved, scheduler: Scheduler, time: int | None) -> int | None:
    """Returns how many seconds before the end of a walltime of `time` seconds ranks are warned."""
    launch = resolved.profile.launch
    if launch.signal is None:
        needs_signal = launch.requeue and scheduler.requeues_at_walltime
        needs_signal = needs_signal or bool(launch.chain and (time or scheduler.signals))
        return min(REQUEUE_SIGNAL, time // 2 if time else REQUEUE_SIGNAL) if needs_signal else None
    if time is None and not scheduler.signals:
        text = f"{resolved.profile.scheduler} sends no signal, and the script knows no walltime"
        raise resolved.conflict("launch.signal", text, "give one: -t TIME")
    if time is not None and launch.signal >= time:
        text = f"a signal {launch.signal} s before the end of a walltime of {time} s"
        raise resolved.conflict("launch.signal", text, "a smaller number")
    return launch.signal


def check_time_of_chain(resolved: Resolved, time: int | None) -> None:
    """Raise JobgenError if a job of a chain may have no time left when its ranks can start."""
    launch = resolved.profile.launch
    pause, signal = CHAIN_PAUSE + launch.stop_grace, launch.signal or REQUEUE_SIGNAL
    least = pause + signal + LEAST_TRAINING
    if time and time < least:
        text = f"a walltime of {time} s is too short for a chain: its ranks may have to wait for"
        text += f" {pause} s before they start, and are warned {signal} s before the end"
        raise resolved.conflict("request.time", text, f"-t {-(-least // 60)}m, or more")
