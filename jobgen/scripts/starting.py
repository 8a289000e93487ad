"""The commands of a script that start something on every node, as words of shell text."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.keeper.carried import keeper_text
from jobgen.planning.plan import Plan
from jobgen.quoting import quote_path
from jobgen.scripts.features import features
from jobgen.scripts.filters import WIDTH
from jobgen.scripts.parts import Part, used_values

# For the lead: %h is the host, %a the words of the command, %q these as one word. pbsdsh counts the
# lines of the node file, of which a node may have several.
_FOR_LEAD = {
    "pbs_tmrsh": "'pbs_tmrsh %h %a'",
    "pbsdsh": r'"pbsdsh -n \$(sed /^%h\$/Q \"\$PBS_NODEFILE\" | wc -l) -- %a"',
    "ssh": "'ssh -o BatchMode=yes %h %q'",
}
_WORD = re.compile(r"""(?:"[^"]*"|'[^']*'|\$\(\([^)]*\)\)|[^\s"'])+""")
_STARTERS = {"pbs_tmrsh": "pbs_tmrsh", "ssh": "ssh -o BatchMode=yes"}


def upper_part(plan: Plan, parts: tuple[Part, ...]) -> dict[str, object]:
    """What a template prints of the machinery above it: which values that reads, and commands."""
    found = features(plan)
    used = used_values(parts) | _values_of_ranks(plan, found)
    commands: dict[str, object] = {"used": used, "features": found, "carried": ""}
    if "keeper" in found:
        with_orders = bool({"warns", "stalls"} & found)
        commands["carried"] = keeper_text("lead" in found, with_orders, "ends_by_order" in found)
    if "each_node" in used:
        commands["each_node"] = _array("each_node", each_node(plan))
    if "start_ranks" in used:
        words = _one_step(plan) if "alone" in found else start_ranks(plan, "may_lose" in found)
        commands["start_ranks"] = _array("start_ranks", words)
    if "starter" in used:
        is_lead = "lead" in found
        name = plan.launch.starter
        commands["starter"] = _FOR_LEAD[name] if is_lead else f"({_STARTERS[name]})"
    return commands


def _values_of_ranks(plan: Plan, found: frozenset[str]) -> frozenset[str]:
    """The values that `ranks` in the upper part reads, and what starts it."""
    values = set()
    if "copied" in found:
        values |= {"job", "nodes", "port"}
    if "local" in found:
        values |= {"nodes", "interface"} if plan.network.socket_variables else {"nodes"}
        values |= {"port"} if "several" in found or "torchrun" not in found else set()
    if "torchrun" in found and "several" in found and "plain" not in found:
        values.add("join_timeout")
    if "checked" in found:
        values |= {"logs", "job"}
    return frozenset(values)


def each_node(plan: Plan) -> str:
    """Runs the copy of the script once on each node, and fails if it fails on one."""
    launch, spares = plan.launch, plan.request.spares
    nodes = '"$((nodes + spares))"' if spares else '"$nodes"'
    if launch.starter == "srun":
        options = _options(launch.step_options)
        count = f"--nodes={nodes} --ntasks={nodes} --ntasks-per-node=1"
        return _joined("srun", options, count, "--export=ALL -K0")
    if plan.request.nodes == 1 and launch.launcher != "mpiexec":
        return "env"
    return _joined(*_mpiexec(plan, 1))


def start_ranks(plan: Plan, chooses_nodes: bool) -> str:
    """Runs the copy once for each launcher of ranks, or for each rank."""
    launch, processes = plan.launch, plan.launch.processes_per_node
    if launch.launcher == "mpiexec":
        return _joined(*_mpiexec(plan, processes))
    if launch.starter != "srun":
        return each_node(plan) if launch.plain else '"${each_node[@]}"'
    bound = (f"--cpu-bind={launch.cpu_bind}",) if launch.cpu_bind else ()
    options = _options((*launch.rank_options, *bound))
    if chooses_nodes:  # the script adds on which
        every = _options(launch.step_options)
        return _joined("srun", every, options, "--ntasks-per-node=1 --export=ALL --no-kill -K0")
    if plan.request.spares or launch.plain:
        every = _options(launch.step_options)
        tasks = processes if launch.launcher == "srun" else 1
        ntasks = f"$((nodes * {tasks}))" if tasks > 1 else '"$nodes"'
        count = f'--nodes="$nodes" --ntasks={ntasks} --ntasks-per-node={tasks}'
        return _joined("srun", every, options, count, "--export=ALL -K1")
    if launch.launcher == "srun":
        count = f"--ntasks=$((nodes * {processes})) --ntasks-per-node={processes}"
        return _joined('"${each_node[@]}"', options, count, "-K1")
    # If a slurmstepd is killed, srun never hears that its node has ended: it waits
    # two hours for the others after the first one's end. torchruns end together.
    return _joined('"${each_node[@]}" --wait=7200', options, "-K1")


def _one_step(plan: Plan) -> str:
    launch, cores = plan.launch, plan.request.cpus_per_task
    bound = (f"--cpu-bind={launch.cpu_bind}",) if launch.cpu_bind else ()
    options = _options((*launch.step_options, *launch.rank_options, *bound))
    for_cores = f"--cpus-per-task={cores}" if cores else ""
    return _joined("srun --nodes=1 --ntasks=1", for_cores, options, "--export=ALL")


def _array(name: str, words: str) -> str:
    """An array of bash, of at most WIDTH columns."""
    lines = [f"{name}=("]
    for word in _WORD.findall(words):
        if len(lines[-1]) + len(word) + 2 > WIDTH:
            lines.append(f"  {word}")
        else:
            lines[-1] += word if lines[-1].endswith("(") else f" {word}"
    return "\n".join(lines) + ")"


def _options(options: tuple[str, ...]) -> str:
    return " ".join(map(quote_path, options))


def _joined(*words: str) -> str:
    return " ".join(word for word in words if word)


def _mpiexec(plan: Plan, processes: int) -> Iterator[str]:
    """An mpiexec with so many processes on a node; each has options of its own."""
    launch = plan.launch
    is_rank = launch.launcher == "mpiexec" and processes == launch.processes_per_node
    count = f"$((nodes * {processes}))" if processes > 1 else '"$nodes"'
    own = _options(launch.mpiexec_options) if is_rank else ""
    match launch.starter:
        case "mpirun":
            yield f"mpirun -n {count} --map-by ppr:1:node --bind-to none"
        case "mpiexec-openmpi":
            yield f'mpiexec -n {count} --hostfile "$PBS_NODEFILE"'
            yield own or f"--map-by ppr:{processes}:node --bind-to none"
            yield '--leave-session-attached --mca plm_rsh_agent "$logs/agent"'
            yield "--mca plm_rsh_no_tree_spawn 1 --mca orte_keep_fqdn_hostnames 1"
        case "mpiexec-mpich":
            yield f'mpiexec -n {count} -f "$PBS_NODEFILE" -ppn {processes}'
            yield own or "-bind-to none"
            # Else the first node's variables, such as which GPUs it has, would be the others', too.
            yield '-launcher rsh -launcher-exec "$logs/agent" -genvnone'
        case "mpiexec-pals":
            yield f"mpiexec -n {count} --ppn {processes}"
            yield own or "--cpu-bind none"
