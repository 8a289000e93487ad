"""Refuses combinations that nothing on the cluster can run, and values that no script can have."""

from jobgen.bounds import JOB_TEXT_BYTES
from jobgen.errors import problem
from jobgen.planning.plan import Plan, Software, Variable
from jobgen.planning.program import Program, escape_macros
from jobgen.profiles.keys.software import ENGINES, Container
from jobgen.profiles.resolve import Resolved
from jobgen.quoting import quote, quote_path, variable_problem
from jobgen.schedulers import (
    COMMANDS,
    MOST_STARTED,
    ONE_NODE_EACH,
    Scheduler,
    get_scheduler,
    starter_of,
)


def scheduler_of(command: str, resolved: Resolved) -> Scheduler:
    """The scheduler of a profile. Raises JobgenError if the command is for a different one."""
    name = resolved.profile.scheduler
    if name is None:
        text = f"profile {resolved.name} names no scheduler: it is a base for others"
        hint = "choose one that `jobgen profiles list` shows"
        if not resolved.name.startswith("fabrics/"):
            own = next((each for each, one in COMMANDS.items() if one == command), "")
            likely, other = ("pbs", "slurm") if resolved.profile.queue else ("slurm", "pbs")
            hint = f"write `scheduler: {own or likely}`{f', or {other},' * (not own)} in it"
        is_own = resolved.origins[""].line and not resolved.name.startswith("fabrics/")
        mark = resolved.origins[""] if is_own else "--profile"
        raise problem(mark, text, "no-scheduler", hint)
    if COMMANDS[name] != command and command in COMMANDS.values():
        text = f"profile {resolved.name} is for {name} ({resolved.origin('scheduler')})"
        raise problem("--profile", text, "scheduler", f"use `jobgen {COMMANDS[name]}`")
    return get_scheduler(name)


def check_no_own_chain(resolved: Resolved, command: str) -> None:
    """Raise JobgenError if an option asks for a chain, and the command submits no batch script."""
    if not resolved.origins["launch.chain"].line:
        text = f"`jobgen {command}` submits no batch script, so no job can follow"
        raise resolved.conflict(
            "launch.chain", text, "leave it out, or use `jobgen sbatch`, `qsub`"
        )


def check_launch(resolved: Resolved, scheduler: Scheduler, nodes: int, by_hand: bool) -> None:
    """Raise JobgenError for launch settings that the scheduler or the launcher does not support."""
    launch, container = resolved.profile.launch, resolved.profile.software.container
    if launch.launcher not in scheduler.launchers:
        text = f"{resolved.profile.scheduler} has no launcher {launch.launcher}"
        hint = f"use {' or '.join(scheduler.launchers)}"
        raise resolved.conflict("launch.launcher", text, hint)
    if launch.max_restarts and launch.launcher in ("srun", "mpiexec"):
        text, hint = f"{launch.launcher} cannot restart ranks", "use the launcher torchrun"
        raise resolved.conflict("launch.max_restarts", text, hint)
    if launch.max_restarts and launch.launcher == "node" and resolved.profile.scheduler == "local":
        text, hint = "a local job does not start its nodes again", "use the launcher torchrun"
        raise resolved.conflict("launch.max_restarts", text, hint)
    is_static = launch.launcher == "torchrun" and launch.rendezvous == "static"
    if launch.max_restarts and is_static and nodes > 1:
        text = "with the static rendezvous, restarted ranks of several nodes do not meet"
        hint = "use the rendezvous c10d"
        raise resolved.conflict("launch.max_restarts", text, hint)
    if launch.numa_binding and launch.launcher != "torchrun":
        text = "only torchrun binds ranks to the cores near a GPU"
        is_option = str(resolved.origin("launch.launcher")).startswith("-")
        path = "launch.launcher" if is_option else "launch.numa_binding"
        raise resolved.conflict(path, text, "--set launch.numa_binding=null")
    if launch.stall and launch.launcher == "srun" and container and container.engine == "ce":
        text = "the ranks start in their containers, where no shell of jobgen watches them"
        raise resolved.conflict("launch.stall", text, "the launcher torchrun")
    if by_hand and resolved.profile.software.stage:
        text, hint = "a job copies it, and by hand there is none", "--set software.stage=null"
        raise resolved.conflict("software.stage", text, hint)
    if by_hand and container and ENGINES[container.engine].is_step:
        text = f"{container.engine} is a part of srun, which is not used by hand"
        hint = "the engine podman, docker, apptainer or singularity"
        raise resolved.conflict("software.container.engine", text, hint)
    if not by_hand:
        _check_starter(resolved, scheduler, nodes + resolved.profile.request.spares)
    _check_elastic(resolved, scheduler, nodes)
    _check_spares(resolved, nodes)


def _check_starter(resolved: Resolved, scheduler: Scheduler, nodes: int) -> None:
    starter = starter_of(resolved.profile, scheduler)
    is_plain = resolved.profile.launch.plain
    if starter in ONE_NODE_EACH and nodes > MOST_STARTED and not is_plain:
        text = f"{starter} is started once for each node, and one lead starts at most"
        first, *others = (each for each in scheduler.starters if each not in ONE_NODE_EACH)
        hint = f"--set launch.starter={first} (or {', '.join(others)}), or --plain"
        raise problem(resolved.origin("request.nodes"), f"{text} {MOST_STARTED}", "limit", hint)


def _check_spares(resolved: Resolved, nodes: int) -> None:
    profile = resolved.profile
    container, least = profile.software.container, profile.request.min_nodes
    if not profile.request.spares:
        return
    text, hint = "", ""
    if nodes == 1:
        text, hint = "a job of one node has no spares", "use -N 2 or more, or --requeue"
    elif least and least < nodes:
        text = "spares, and a range of nodes: a job continues with fewer nodes, or with a spare"
        hint = "-N N+SPARES, or -N MIN:MAX"
    elif container and ENGINES[container.engine].is_step:
        text, hint = f"{container.engine} starts ranks on all nodes of a job", "-N without spares"
    if text:
        raise resolved.conflict("request.spares", text, hint)


def _check_elastic(resolved: Resolved, scheduler: Scheduler, nodes: int) -> None:
    launch, least = resolved.profile.launch, resolved.profile.request.min_nodes or nodes
    possible = scheduler.elastic and launch.launcher == "torchrun" and launch.rendezvous == "c10d"
    if least < nodes and not possible:
        needs = "the launcher torchrun, the rendezvous c10d, and Slurm or local"
        text = f"a range of nodes ({least} to {nodes}) needs {needs}"
        hint = "without them, give one number of nodes"
        raise resolved.conflict("request.min_nodes", text, hint)


def check_order(plan: Plan) -> None:
    """Raise JobgenError for a file of hosts whose order the job cannot keep on all its nodes.

    Slurm starts the script on Slurm's first node; a check finds the first node of the file.
    """
    if not plan.ordered_at:
        return
    text, hint = "", ""
    if plan.launch.plain:
        text = "the plain script starts on Slurm's first node"
        hint = "remove launch.plain (--plain)"
    elif plan.request.spares or plan.elastic:
        text = "a file of hosts has an order for all nodes of a job"
        form, key = ("+S", "spares") if plan.request.spares else ("MIN:", "min_nodes")
        hint = f"-N without {form}, or remove request.{key}"
    elif plan.engine == "ce" and plan.launch.launcher == "srun":
        text, hint = "srun starts the ranks in their containers", "the launcher torchrun"
    if text:
        raise problem(plan.ordered_at, f"--distribution=arbitrary: {text}", "conflict", hint)


def check_submitted(plan: Plan) -> None:
    """Raise JobgenError for `-e NAME` if the plain script of PBS cannot pass it to other nodes."""
    several = plan.request.nodes > 1
    if plan.software.submitted and plan.scheduler == "pbs" and plan.launch.plain and several:
        text = f"the plain script does not pass {plan.software.submitted[0]} on to other nodes"
        raise problem("-e", text, "conflict", "remove --plain (launch.plain)")


def check_no_variable(option: str, text: str) -> None:
    """Raise JobgenError for `$NAME` in a text of a directive, which no scheduler replaces."""
    if found := variable_problem(text):
        raise problem(option, *found)


def check_size(
    program: Program,
    environment: tuple[Variable, ...],
    software: Software,
    container: Container | None,
) -> None:
    """Raise JobgenError if the job's text is too long for the shell of a node (JOB_TEXT_BYTES)."""
    words = map(escape_macros, (program.name, *program.arguments))
    lines = (*software.modules, *software.shell_lines)
    if container:
        lines += (*container.mounts, *container.options)
    sizes = {
        "--": (
            "the program and its arguments",
            sum(len(quote(word).encode()) + 1 for word in words),
        ),
        "-e": (
            "the variables",
            sum(len(name) + _size(value or _UNSET) + 12 for name, value, _ in environment),
        ),
        "software": ("modules, commands, mounts and options", sum(map(_size, lines))),
    }
    total = sum(size for _, size in sizes.values())
    if total > JOB_TEXT_BYTES:
        option, (text, size) = max(sizes.items(), key=lambda item: item[1][1])
        text = f"{text} have {size} bytes" + (f", of {total}" if total > size else "")
        hint = f"at most {JOB_TEXT_BYTES} in all: put the rest into a file"
        raise problem(option, text, "limit", hint)


_UNSET = ": is not set: export it before the job is submitted"


def _size(value: str) -> int:
    """Returns the bytes of a value of the node, quoted as it stands in a script."""
    return len(quote_path(value).encode("utf-8", "surrogateescape"))
