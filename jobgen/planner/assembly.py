"""Puts the Plan together: what the job adds to what the profile decides (`base_plan`).

That is its program, the variables of its ranks, its workspace and its container.
"""

import re
from collections.abc import Iterator
from itertools import chain

from jobgen.errors import JobgenError, Problem, problem
from jobgen.limits import JOB_TEXT_BYTES
from jobgen.planner import refusals
from jobgen.planner.base_plan import base_plan
from jobgen.planner.container_options import check_container_values, with_container
from jobgen.planner.program_refusals import check_program
from jobgen.planning.host_list import NO_HOSTS, Hosts
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.plan import Directive, Plan, Request, Software, Variable
from jobgen.planning.program import Program, make_program
from jobgen.profiles.conflicts import at_origin, is_reserved
from jobgen.profiles.kinds import VARIABLE
from jobgen.profiles.model import Profile
from jobgen.profiles.records import extend
from jobgen.profiles.resolve import Resolved
from jobgen.quoting import expand
from jobgen.schedulers import COMMANDS, Scheduler

BYHAND_NAME = "[A-Za-z0-9][A-Za-z0-9_.-]*"
TORCHRUN_KILLS_AFTER = 30  # seconds after TERM, by default (torch/distributed/launcher/api.py)


def make_plan(job: Job, resolved: Resolved, hosts: Hosts = NO_HOSTS) -> Plan:
    """The plan for a job on a cluster; `hosts` are its nodes, if they are known already.

    Raises JobgenError for what the cluster does not have or the scheduler cannot read, with the
    limit and the place where each value that it names was set.
    """
    try:
        return _make_plan(job, resolved, hosts)
    except JobgenError as error:
        raise JobgenError(_placed(each, resolved) for each in error.problems) from None


def _make_plan(job: Job, resolved: Resolved, hosts: Hosts) -> Plan:
    scheduler, by_hand = refusals.scheduler_of(job.command, resolved), job.command == "byhand"
    profile = resolved.profile
    base = base_plan(resolved, scheduler, by_hand, job.shared is not None)
    program = make_program(
        job.program, profile.trainer, job.trainer is not None, resolved.origin("trainer")
    )
    environment = _rank_variables(base, profile, job)
    request = _with_options(base.request, job)
    check_program(program, base, resolved, by_hand)
    refusals.check_size(program, environment, base.software, profile.software.container)
    # A packaged trainer comes with the script. By hand, nobody fetches anything.
    needs_workspace = not by_hand and program.kind != "trainer"
    plan = base._replace(
        command=tuple(command_words(job)),
        program=program,
        name=_name(job, program, scheduler),
        has_own_name=job.name is not None,
        hosts=hosts.names,
        slots=hosts.slots,
        request=request,
        network=base.network._replace(socket_variables=_socket_variables(base, environment)),
        software=extend(
            Software,
            base.software,
            environment=environment,
            workspace=profile.workspace if needs_workspace else None,
        ),
    )
    refusals.check_submitted(plan)
    refusals.check_order(plan)
    if profile.software.container:
        check_container_values(plan, resolved, by_hand)
        plan = with_container(plan, profile.software.container, scheduler.variables, by_hand)
    is_job = job.command in COMMANDS.values()
    return plan._replace(directives=scheduler.directives(plan)) if is_job else plan


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


def _rank_variables(base: Plan, profile: Profile, job: Job) -> tuple[Variable, ...]:
    """The variables of a job whose plan is known but for its program; the user's win.

    Raises JobgenError for a text of -e that no script can set.
    """
    fabric = (
        Variable(name, variable.value or "", variable.why)
        for name, variable in profile.network.environment.items()
        if base.request.nodes > 1 or variable.nodes == "any"
    )
    merged: dict[str, Variable] = {}
    for variable in chain(_own_variables(base, profile), fabric, _user_variables(job.environment)):
        merged.pop(variable.name, None)  # a later one stands at its own place
        merged[variable.name] = variable
    variables = tuple(merged.values())
    return _values_in_one_step(variables) if job.command == "byhand" else variables


def _socket_variables(plan: Plan, environment: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """The variables set to the network interface that a node detects; `value` precedes its name.

    Empty if no node has to detect it: for one node, or if the profile names the interface. A
    variable that `environment` sets already is left out.
    """
    if plan.request.nodes == 1 or plan.network.interface:
        return ()
    names = {variable.name for variable in environment}
    candidates = (Variable("GLOO_SOCKET_IFNAME", ""), Variable("NCCL_SOCKET_IFNAME", "="))
    return tuple(variable for variable in candidates if variable.name not in names)


def _own_variables(base: Plan, profile: Profile) -> Iterator[Variable]:
    request, processes = base.request, base.launch.processes_per_node
    yield Variable("PYTHONUNBUFFERED", "1", "The output of a rank appears at once.")
    if profile.launch.stall:
        why = "SIGABRT then has Python write the stack of a rank."
        yield Variable("PYTHONFAULTHANDLER", "1", why)
    if request.cpus_per_task:
        why = "Cores of one rank; torchrun's default is 1."
        if profile.scheduler == "pbs":
            why = "Cores of one rank; PBS sets it to the node's ncpus."
        ranks = 1 if profile.launch.launcher == "srun" else processes  # of a task
        threads = max(1, request.cpus_per_task // ranks)
        yield Variable("OMP_NUM_THREADS", str(threads), why)
    elif processes > 1:
        why = "The profile has no node.cpus to share out; each rank would use all cores."
        yield Variable("OMP_NUM_THREADS", "1", why)
    if request.nodes == 1:
        why = "gloo stays on this node, whatever the hostname resolves to."
        yield Variable("GLOO_SOCKET_IFNAME", "lo", why)
    elif names := profile.network.interface:
        why = "gloo's default is the interface of the host name."
        yield Variable("GLOO_SOCKET_IFNAME", names[0], why)
        why = "For NCCL's first contact; = means exactly this name."
        yield Variable("NCCL_SOCKET_IFNAME", "=" + ",".join(names), why)
    container = profile.software.container
    if container and container.engine == "pyxis" and profile.node.gpu == "none":
        why = "Without it, enroot's hook searches for a driver."
        yield Variable("NVIDIA_VISIBLE_DEVICES", "void", why)
    delay = profile.launch.kill_delay or 0
    if delay > TORCHRUN_KILLS_AFTER and profile.launch.launcher in ("torchrun", "node"):
        why = "torchrun kills ranks 30 s after TERM, unless it is told (2.12)."
        yield Variable("TORCH_ELASTIC_SHUTDOWN_TIMEOUT", str(delay), why)
    if profile.launch.max_restarts or request.min_nodes < request.nodes:
        why = "Restarted ranks must not read the addresses of the dead ones."
        yield Variable("TORCH_DISABLE_SHARE_RDZV_TCP_STORE", "1", why)


def _user_variables(texts: tuple[str, ...]) -> Iterator[Variable]:
    for text in texts:
        name, equals, value = text.partition("=")
        if not re.fullmatch(VARIABLE.pattern, name):
            hint = f"NAME=VALUE or NAME, {VARIABLE.rule}"
            raise problem("-e", f"{name!r:.80} is not a variable name", "value", hint)
        if is_reserved(name):
            message = f"{name} belongs to the script, torchrun or bash"
            hint = f"write --set network.port={value}" if name == "MASTER_PORT" and value else ""
            raise problem("-e", message, "value", hint or "choose another name")
        if "\0" in value:
            message = f"the value of {name} contains a NUL character"
            raise problem("-e", message, "value", "remove it")
        yield Variable(name, value if equals else None)


def _values_in_one_step(variables: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """The variables for `env`, which sets all at once: no value uses one that is set before it."""
    earlier: dict[str, str] = {}
    found = []
    for variable in variables:
        if variable.value is None:
            found.append(variable)
            continue
        whole = expand(variable.value, earlier)
        if len(whole) > JOB_TEXT_BYTES:
            text = f"the value of {variable.name} has more than {JOB_TEXT_BYTES} characters"
            raise problem("-e", text, "limit", "a shorter one")
        if re.match("~(/|$)", whole):  # there is no other way to write it
            text = f"by hand, the value of {variable.name} would begin with your home"
            raise problem("-e", text, "value", "a value without the ~ at its beginning")
        is_same = whole == expand(variable.value, {})
        found.append(variable if is_same else variable._replace(value=whole))
        earlier[variable.name] = whole
    return tuple(found)


def _with_options(request: Request, job: Job) -> Request:
    """The request with the options that no profile has."""
    for text in job.directives:
        refusals.check_no_variable("--directive", text)
    own = tuple(Directive(text, "--directive") for text in job.directives)
    directives = (*request.directives, *own)
    return extend(Request, request, array=job.array, after=job.after, directives=directives)


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
    """A problem at its value's origin; in a file, its hint names keys in the place of options."""
    if resolved.origins.get(each.mark.file, each.mark).line:
        from jobgen.planning.key_words import with_paths  # only a mistake needs it

        each = each._replace(hint=with_paths(each.hint))
    return at_origin(each, resolved.origins)
