"""The variables of each rank: of jobgen, of the fabric, and of the user, whose values win."""

import re
from collections.abc import Iterator
from itertools import chain

from jobgen.bounds import JOB_TEXT_BYTES
from jobgen.errors import problem
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Plan, Variable
from jobgen.profiles.conflicts import is_reserved
from jobgen.profiles.kinds import VARIABLE
from jobgen.profiles.model import Profile
from jobgen.quoting import expand

TORCHRUN_KILLS_AFTER = 30  # seconds after TERM, by default (torch/distributed/launcher/api.py)


def rank_variables(base: Plan, profile: Profile, job: Job) -> tuple[Variable, ...]:
    """Returns the variables of a job's ranks; a variable of the user replaces one of the same name.

    Raises JobgenError for a text of -e that no script can set.
    """
    fabric = (
        Variable(name, variable.value or "", variable.why)
        for name, variable in profile.network.environment.items()
        if base.request.nodes > 1 or variable.nodes == "any"
    )
    merged: dict[str, Variable] = {}
    for variable in chain(_own_variables(base, profile), fabric, _user_variables(job.environment)):
        merged.pop(variable.name, None)  # a later variable takes a later place
        merged[variable.name] = variable
    variables = tuple(merged.values())
    return _values_in_one_step(variables) if job.command == "byhand" else variables


def socket_variables(plan: Plan, environment: tuple[Variable, ...]) -> tuple[Variable, ...]:
    """Returns the variables for the network interface that a node detects; `value` is its prefix.

    Returns () if no node has to detect an interface: in a job of one node, or if the profile names
    the interface. A variable that `environment` sets already is left out.
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
        ranks = 1 if profile.launch.launcher == "srun" else processes  # ranks of one task
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
    """Returns variables for `env`, which sets all at once: no value refers to an earlier one."""
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
        if re.match("~(/|$)", whole):  # a ~ at the beginning cannot be escaped
            text = f"by hand, the value of {variable.name} would begin with your home"
            raise problem("-e", text, "value", "a value without the ~ at its beginning")
        is_same = whole == expand(variable.value, {})
        found.append(variable if is_same else variable._replace(value=whole))
        earlier[variable.name] = whole
    return tuple(found)
