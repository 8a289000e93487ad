"""Profile and Job to the frozen Plan: every default applied, every number computed and checked.

Planning is pure: no clock, no host name, no environment, no randomness.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

from jobgen.environment import VISIBLE, Setting, found_sockets, passed, settings, with_users
from jobgen.errors import JobgenError, problem
from jobgen.job import Job, command_line
from jobgen.profile import Container, Profile, Workspace
from jobgen.program import Program, check, length, program
from jobgen.schedulers import COMMANDS, Scheduler, scheduler
from jobgen.store import Resolved

BY_HAND = "byhand.sh.j2"
BY_HAND_NAME = "[A-Za-z0-9][A-Za-z0-9_.-]*"  # a container's, to podman and docker
# What apptainer sets itself, or reads as a part of PATH (its internal/pkg/util/env/clean.go,
# `SetContainerEnv`).
APPTAINERS = frozenset("APPEND_PATH APPTAINER_APPNAME APPTAINER_SHELL HOME PREPEND_PATH".split())
LONGEST_SOFTWARE = 16 * 1024  # bytes


class Plan(NamedTuple):
    """All that a template sees. Sizes and counts are per node where they say so."""

    command: tuple[str, ...]
    profile: str
    description: str
    scheduler: str
    template: str  # the one without --template
    name: str
    named: bool  # by the user
    hosts: tuple[str, ...]  # only where they are known already
    partition: str | None
    queue: str | None
    account: str | None
    nodes: int  # the most, where `min_nodes` is less
    min_nodes: int
    processes_per_node: int
    tasks_per_node: int  # the scheduler's: one agent, or one a rank
    cpus_per_task: int | None
    gpus_per_node: int
    gpu: str  # nvidia | amd | none
    gpu_option: str | None
    chunk: tuple[tuple[str, str], ...]  # more of PBS's resources, with their values
    place: str | None
    exclusive: bool
    memory: str | None  # `all` or a size
    node_memory: str | None
    time: int | None  # seconds
    output: str | None
    live_output: bool
    array: str | None
    array_index: str  # the variable with the number of one of its jobs
    after: tuple[str, ...]  # ID or ID:KIND
    qos: str | None
    reservation: str | None
    constraint: str | None
    mail: str | None
    mail_on: tuple[str, ...]  # begin, end, fail
    extra_directives: tuple[str, ...]
    directives: tuple[str, ...]
    arch: str | None
    modules: tuple[str, ...]
    venv: str | None
    conda: str | None
    container: Container | None
    roots: tuple[tuple[str, str], ...]  # libraries of one's own: the variable, the folder
    commands: tuple[str, ...]
    workspace: Workspace | None
    environment: tuple[Setting, ...]
    found_sockets: tuple[Setting, ...]  # set to the interface found there; `value` goes before it
    passed: tuple[str, ...]  # names of the variables that a container is given
    interface: tuple[str, ...]  # empty: found on the node
    port: int | None  # None: made from the job's id
    launcher: str
    starter: str
    stop_grace: int  # seconds
    rendezvous: str  # standalone | c10d | static
    join_timeout: int  # seconds
    max_restarts: int
    cpu_bind: str | None
    numa_binding: str | None
    requeue: bool
    signal: int | None  # seconds before the walltime
    program: Program

    @property
    def elastic(self) -> bool:
        """Whether the job may start with fewer nodes than `nodes`, and go on when some are lost."""
        return self.min_nodes < self.nodes

    @property
    def ranks(self) -> int:
        """All ranks of the job."""
        return self.nodes * self.processes_per_node

    @property
    def hides_gpus(self) -> bool:
        """Whether the ranks run on the CPU where GPUs may be: asked for, or this machine's own."""
        return self.gpu == "none" and (self.gpus_per_node > 0 or self.scheduler == "local")

    @property
    def gpu_variable(self) -> str:
        """The variable that says which GPUs a rank sees."""
        return VISIBLE[self.gpu][0]

    @property
    def meets(self) -> bool:
        """Whether the ranks meet at an address and a port that the script chooses."""
        return self.nodes > 1 or self.launcher == "srun"

    @property
    def waits(self) -> bool:
        """Whether torchrun on node 0 opens a port that the other nodes can wait for."""
        return self.nodes > 1 and self.launcher == "torchrun"

    @property
    def needs_torch(self) -> bool:
        """Whether python3 has to import torch: always, but for a command that srun starts."""
        return self.launcher == "torchrun" or self.program.kind != "command"

    @property
    def checked_gpus(self) -> int:
        """GPUs that torch must see on a node; 0: not checked."""
        return self.gpus_per_node if self.gpu != "none" else 0


def plan(job: Job, resolved: Resolved, hosts: tuple[str, ...] = ()) -> Plan:
    """The plan for a job on a cluster; `hosts` are its nodes, where they are known already.

    Raises JobgenError for what the cluster cannot give or the scheduler could not read, with the
    limit and where it was said.
    """
    there = _scheduler(job, resolved)
    profile, known = resolved.profile, _cluster(resolved, job.command, job.shared is not None)
    where = resolved.origin("trainer")
    what = program(job.program, profile.trainer, job.trainer is not None, where)
    if what.kind == "command" and known.launcher == "srun" and "=" in what.name:
        hint = "give it another name, or use the launcher torchrun"
        raise problem("--", f"the program {what.name!r:.80} has a = in its name", "value", hint)
    check(what, known.launcher == "torchrun", known.array_index if job.array else "")
    by_hand = job.command == "byhand"
    # A packaged trainer comes with the script.
    workspace = None if by_hand or what.kind == "trainer" else profile.workspace
    variables = with_users(known.environment, job.environment)
    sockets = found_sockets(profile, known.nodes, variables)
    exported = () if by_hand else variables  # by hand, they are set in the container
    if container := profile.software.container:
        _check_text((*job.program, *(setting.value for setting in variables)))
        if container.engine == "apptainer":
            _check_names(exported, resolved)
    drafted = known._replace(
        command=tuple(command_line(job)),
        name=_name(job, what, there),
        named=job.name is not None,
        hosts=hosts,
        array=job.array,
        after=job.after,
        extra_directives=job.directives,
        container=_container(profile, known.gpus_per_node, workspace),
        workspace=workspace,
        environment=variables,
        found_sockets=sockets,
        passed=passed(profile, (*exported, *sockets), workspace is not None, there.VARIABLES),
        program=what,
    )
    if job.command not in COMMANDS.values():
        return drafted
    try:
        return drafted._replace(directives=there.directives(drafted))
    except JobgenError as error:
        raise _placed(error, resolved) from None


@lru_cache(256)  # many jobs have a profile and its options in common
def _cluster(resolved: Resolved, command: str, shared: bool) -> Plan:
    """What the profile and the options decide, whatever program a job runs."""
    profile, there = resolved.profile, scheduler(str(resolved.profile.scheduler))
    request, launch, software = profile.request, profile.launch, profile.software
    by_hand = command == "byhand"
    launcher = "torchrun" if by_hand else launch.launcher
    nodes, gpus = _nodes(resolved), _gpus(resolved)
    processes = launch.processes_per_node or max(gpus, 1)
    _check_launch(resolved, there, nodes)
    _check_gpus(resolved, gpus)
    _check_software(resolved)
    if by_hand and software.container and software.container.engine == "pyxis":
        text = "by hand there is no srun, which pyxis is a part of"
        hint = "the engine podman, docker or apptainer"
        raise problem(resolved.origin("software.container.engine"), text, "conflict", hint)
    tasks = processes if launcher == "srun" else 1
    cpus = _cpus(profile, gpus, processes)
    mail_on = request.mail_on or ("end,fail" if request.mail else "")
    time = _time(resolved, there)
    return Plan(
        command=(),
        profile=resolved.name,
        description=profile.description,
        scheduler=str(profile.scheduler),
        template=BY_HAND if by_hand else there.TEMPLATE,
        name="",
        named=False,
        hosts=(),
        partition=profile.partition,
        queue=profile.queue,
        account=profile.account,
        nodes=nodes,
        min_nodes=request.fewest(nodes),
        processes_per_node=processes,
        tasks_per_node=tasks,
        cpus_per_task=max(1, cpus // tasks) if cpus else None,
        gpus_per_node=gpus,
        gpu=profile.node.gpu,
        gpu_option=request.gpu_option,
        chunk=tuple(request.chunk.items()),
        place=request.place,
        exclusive=request.exclusive,
        memory=_memory(resolved, shared),
        node_memory=profile.node.memory,
        time=time,
        output=request.output,
        live_output=request.live_output,
        array=None,
        array_index=there.ARRAY_INDEX,
        after=(),
        qos=request.qos,
        reservation=request.reservation,
        constraint=request.constraint,
        mail=request.mail,
        mail_on=tuple(mail_on.split(",")) if mail_on else (),
        extra_directives=(),
        directives=(),
        arch=profile.node.arch,
        modules=software.modules,
        venv=software.venv,
        conda=software.conda,
        container=None,
        roots=_roots(profile),
        commands=software.commands,
        workspace=None,
        environment=settings(
            profile, nodes, processes, max(1, cpus // processes) if cpus else None
        ),
        found_sockets=(),
        passed=(),
        interface=profile.network.interface or (),
        port=_port(profile, by_hand),
        launcher=launcher,
        starter=launch.starter,
        stop_grace=launch.stop_grace,
        rendezvous=launch.rendezvous if nodes > 1 else "standalone",
        join_timeout=launch.join_timeout,
        max_restarts=launch.max_restarts,
        cpu_bind=launch.cpu_bind,
        numa_binding=launch.numa_binding,
        requeue=launch.requeue,
        signal=_signal(resolved, there, time),
        program=Program("command", ""),
    )


def _placed(error: JobgenError, resolved: Resolved) -> JobgenError:
    """The error with each value of the profile it names at the place where that was said."""
    found = resolved.origins
    return JobgenError(
        each._replace(mark=found.get(each.mark.file, each.mark)) for each in error.problems
    )


def _scheduler(job: Job, resolved: Resolved) -> Scheduler:
    name = resolved.profile.scheduler
    if name is None:
        text = f"profile {resolved.name} names no scheduler: it is a base for others"
        hint = "choose one that `jobgen profiles list` shows"
        raise problem("--profile", text, "no-scheduler", hint)
    if COMMANDS[name] != job.command and job.command in COMMANDS.values():
        text = f"profile {resolved.name} is for {name} ({resolved.origin('scheduler')})"
        raise problem("--profile", text, "scheduler", f"use `jobgen {COMMANDS[name]}`")
    return scheduler(name)


def _nodes(resolved: Resolved) -> int:
    asked = resolved.profile.request.nodes
    _within(
        resolved, "request.nodes", asked, "nodes", resolved.profile.limits.nodes, "limits.nodes"
    )
    return asked


def _gpus(resolved: Resolved) -> int:
    node, request = resolved.profile.node, resolved.profile.request
    limit, path = resolved.profile.limits.gpus_per_node, "limits.gpus_per_node"
    if limit is None:
        limit, path = node.gpus, "node.gpus"
    asked = node.gpus if request.gpus_per_node is None else request.gpus_per_node
    _within(resolved, "request.gpus_per_node", asked, "GPUs a node", limit, path)
    return asked


def _check_gpus(resolved: Resolved, gpus: int) -> None:
    """Docker's and podman's containers are not in the job's cgroup, and see the GPUs of all jobs.

    Slurm numbers a job's GPUs from 0 there (gres_use_local_device_index), so two jobs would take
    the same ones.
    """
    profile = resolved.profile
    container, node = profile.software.container, profile.node
    shared = not profile.request.exclusive and node.gpu != "none" and 0 < gpus < node.gpus
    if shared and container and container.engine in ("podman", "docker"):
        text = f"with {container.engine}, jobs on a shared node would take each other's GPUs"
        hint = "--exclusive, or the engine apptainer or pyxis"
        raise problem(resolved.origin("software.container.engine"), text, "conflict", hint)


def _within(
    resolved: Resolved, path: str, asked: int, what: str, limit: int | None, limit_path: str
) -> None:
    if limit is not None and asked > limit:
        text = f"{asked} {what} asked for, profile {resolved.name} has at most {limit}"
        hint = f"{limit_path} is said at {resolved.origin(limit_path)}"
        raise problem(resolved.origin(path), text, "limit", hint)


def _time(resolved: Resolved, there: Scheduler) -> int | None:
    """The walltime in seconds; the scheduler says what a text means to it."""
    asked, limit = resolved.profile.request.time, resolved.profile.limits.time
    if asked is None:
        return None
    length = _seconds(resolved, there, "request.time", asked)
    if limit is not None and length > _seconds(resolved, there, "limits.time", limit):
        text = f"a walltime of {asked} asked for, profile {resolved.name} has at most {limit}"
        hint = f"limits.time is said at {resolved.origin('limits.time')}"
        raise problem(resolved.origin("request.time"), text, "limit", hint)
    return length


def _seconds(resolved: Resolved, there: Scheduler, path: str, walltime: str) -> int:
    length = there.seconds(walltime)
    if not length:
        text = f"{resolved.profile.scheduler} cannot read the walltime {walltime!r:.40}"
        if length == 0:
            text = "a walltime of 0, which would be no limit at all"
        raise problem(resolved.origin(path), text, "walltime", there.TIME_RULE_IN_WORDS)
    return length


def _signal(resolved: Resolved, there: Scheduler, time: int | None) -> int | None:
    """Seconds before the end of a walltime of `time` seconds at which the ranks are warned."""
    launch = resolved.profile.launch
    if launch.signal is None:
        wanted = launch.requeue and there.REQUEUES_AT_WALLTIME
        return min(120, time // 2 if time else 120) if wanted else None
    if time is None and not there.SIGNALS:
        text = f"{resolved.profile.scheduler} warns nobody, and the script knows no walltime"
        raise problem(resolved.origin("launch.signal"), text, "conflict", "say one: -t TIME")
    if time is not None and launch.signal >= time:
        text = f"a signal {launch.signal} s before the end of a walltime of {time} s"
        raise problem(resolved.origin("launch.signal"), text, "conflict", "a smaller number")
    return launch.signal


def _memory(resolved: Resolved, shared: bool) -> str | None:
    asked, there = resolved.profile.request.memory, resolved.profile.node.memory
    if asked == "all" and shared:
        return None  # it would keep all other jobs away: the site's default
    if asked and asked != "all" and there and _kib(asked) > _kib(there):
        text = f"{asked} of memory asked for, a node has {there}"
        hint = f"node.memory is said at {resolved.origin('node.memory')}; `all` asks for all of it"
        raise problem(resolved.origin("request.memory"), text, "limit", hint)
    return asked


def _kib(size: str) -> int:
    factor: int = 1024 ** "KMGT".index(size[-1])
    return int(size[:-1]) * factor


def _cpus(profile: Profile, gpus: int, processes: int) -> int | None:
    """Cores of the job on a node: all of an exclusive one, else its GPUs' share, or one a rank."""
    node = profile.node
    if profile.request.exclusive or profile.scheduler == "local":
        return node.cpus
    if node.cpus is None:
        return None if gpus else processes
    share = node.cpus * gpus // node.gpus if node.gpus else 0
    return share or min(processes, node.cpus)


def _check_text(values: tuple[str, ...]) -> None:
    """A container's words are JSON on their way (OCI's runtime-spec), which has no other bytes."""
    if wrong := next((value for value in values if re.search("[\ud800-\udfff]", value)), None):
        hint = "containers get UTF-8 alone: put it into a file"
        raise problem("software.container", f"{wrong!a:.80} is not UTF-8 text", "value", hint)


def _check_names(variables: tuple[Setting, ...], resolved: Resolved) -> None:
    """Raise JobgenError for a variable that apptainer does not pass on."""
    if name := next((each.name for each in variables if each.name in APPTAINERS), None):
        said = name in resolved.profile.network.environment
        where = resolved.origin(f"network.environment.{name}") if said else "-e"
        text = f"apptainer gives {name} to no program as it is"
        raise problem(where, text, "conflict", "another name, or an option of apptainer's")


def _check_software(resolved: Resolved) -> None:
    """Linux takes 128 KiB for an exported function (MAX_ARG_STRLEN), and variables are in one."""
    software = resolved.profile.software
    said = (*software.modules, *software.commands)
    if software.container:
        said += (*software.container.mounts, *software.container.options)
    if (size := sum(map(length, said))) > LONGEST_SOFTWARE:
        text, hint = (
            f"modules, commands, mounts and options have {size} bytes",
            "put them in a file",
        )
        raise problem("software", text, "limit", f"at most {LONGEST_SOFTWARE}: {hint}")


def _port(profile: Profile, by_hand: bool) -> int | None:
    """By hand there is no job's id to make one from: torchrun's own default then."""
    if by_hand:
        return profile.network.port or 29400
    return profile.network.port if profile.request.exclusive else None


def _roots(profile: Profile) -> tuple[tuple[str, str], ...]:
    software = profile.software
    found = {
        "AWS_OFI_NCCL_ROOT": software.aws_ofi_nccl_root,
        "NCCL_ROOT": software.nccl_root,
    }
    return tuple((name, path) for name, path in found.items() if path)


def _name(job: Job, what: Program, there: Scheduler) -> str:
    if job.name is None:
        last = what.name.rstrip("/").rpartition("/")[2].removesuffix(".py")
        rule = BY_HAND_NAME if job.command == "byhand" else there.NAME_RULE
        return last if re.fullmatch(rule, last) else "job"
    if not re.fullmatch(there.NAME_RULE, job.name):
        text = f"{job.name!r:.80} is no name for a job"
        raise problem("-J", text, "value", there.NAME_RULE_IN_WORDS)
    return job.name


def _check_launch(resolved: Resolved, there: Scheduler, nodes: int) -> None:
    launch = resolved.profile.launch
    if launch.launcher not in there.LAUNCHERS:
        text = f"{resolved.profile.scheduler} has no launcher {launch.launcher}"
        hint = f"use {' or '.join(there.LAUNCHERS)}"
        raise problem(resolved.origin("launch.launcher"), text, "conflict", hint)
    if launch.max_restarts and launch.launcher == "srun":
        text, hint = "srun cannot restart ranks", "use the launcher torchrun"
        raise problem(resolved.origin("launch.max_restarts"), text, "conflict", hint)
    if launch.numa_binding and launch.launcher == "srun":
        text, hint = "only torchrun binds ranks to the cores near a GPU", "--set launch.cpu_bind=…"
        raise problem(resolved.origin("launch.numa_binding"), text, "conflict", hint)
    least = resolved.profile.request.fewest(nodes)
    if least < nodes and (
        launch.launcher == "srun" or launch.rendezvous == "static" or not there.ELASTIC
    ):
        text = f"{least} to {nodes} nodes, which only torchrun with c10d can do, and not on PBS"
        hint = "say one number of nodes"
        raise problem(resolved.origin("request.min_nodes"), text, "conflict", hint)
    if launch.max_restarts and launch.rendezvous == "static" and nodes > 1:
        text = "with the static rendezvous, ranks of several nodes do not come back"
        hint = "use the rendezvous c10d"
        raise problem(resolved.origin("launch.max_restarts"), text, "conflict", hint)


def _container(profile: Profile, gpus: int, workspace: Workspace | None) -> Container | None:
    """The container, with what its GPUs need where the profile does not say.

    ROCm needs /dev/kfd, /dev/dri and the group that owns them: keep-groups keeps the user's own in
    a rootless container of podman (podman-run(1)), Docker is told the group there. NVIDIA's CDI
    names all GPUs nvidia.com/gpu=all. For pyxis a hook of enroot's brings NVIDIA's.
    """
    said, vendor = profile.software.container, profile.node.gpu if gpus else "none"
    if said is None:
        return None
    devices: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    mounts, options = said.mounts, said.options
    if workspace:
        mounts = (*mounts, "$JOBGEN_WORKSPACE:$JOBGEN_WORKSPACE")
    match said.engine, vendor:
        case "podman" | "docker", "amd":
            devices = ("/dev/kfd", "/dev/dri")
            groups = ("keep-groups",) if said.engine == "podman" else ()
        case "podman", "nvidia":
            devices = ("nvidia.com/gpu=all",)
        case "docker", "nvidia":
            options = ("--gpus=all", *options)
        case "apptainer", "amd" | "nvidia":
            options = ("--rocm" if vendor == "amd" else "--nv", *options)
        case "pyxis", "amd":
            mounts = (*mounts, "/dev/kfd:/dev/kfd", "/dev/dri:/dev/dri")
    return replace(
        said,
        image=_image(said.engine, said.image or ""),
        mounts=mounts,
        devices=devices if said.devices is None else said.devices,
        groups=groups if said.groups is None else said.groups,
        options=options,
    )


def _image(engine: str, name: str) -> str:
    """An image's name in the engine's own spelling; a file's path stays."""
    if re.match(r"[./$~]", name) or "://" in name or engine in ("podman", "docker"):
        return name
    if engine == "apptainer":
        return name if name.endswith(".sif") else f"docker://{name}"
    registry, slash, rest = name.partition("/")
    host = r"localhost|[\w-]+(\.[\w-]+)+|[\w-]+(?=:)"
    if name.endswith(".sqsh") or not slash or not re.fullmatch(rf"({host})(:\d+)?", registry):
        return name
    return rest if registry == "docker.io" else f"{registry}#{rest}"  # enroot goes there by itself
