"""The commands with which a script starts nodes and ranks, as words of shell text."""

import re
from collections.abc import Iterable, Iterator

from jobgen.keeper.carried import digits, keeper_paths, keeper_text
from jobgen.planning.plan import ARBITRARY, Plan
from jobgen.quoting import quote_path
from jobgen.scripts.jinja_environments import WIDTH
from jobgen.scripts.parts import Part, used_values

# Commands for the lead: %h is the host, %a the words of the command, %q these words quoted as one.
# pbsdsh numbers nodes by the lines of the node file, in which a node may have several lines.
_FOR_LEAD = {
    "pbs_tmrsh": "'pbs_tmrsh %h %a'",
    "pbsdsh": r'"pbsdsh -n \$(sed /^%h\$/Q \"\$PBS_NODEFILE\" | wc -l) -- %a"',
    "ssh": "'ssh -o BatchMode=yes %h %q'",
}
_STARTERS = {"pbs_tmrsh": "pbs_tmrsh", "ssh": "ssh -o BatchMode=yes"}


def upper_part(
    plan: Plan, found: frozenset[str], parts: tuple[Part, ...], manifest: str = ""
) -> dict[str, object]:
    """Returns the values for the upper part of a script: names that the machinery reads, commands.

    `found` are the features of the plan, and `parts` are the parts of its machinery.

    A script with a `manifest` (a path from its folder) names the keeper beside the manifest, and
    carries none, unless its job runs in another folder than it is submitted from.
    """
    used = used_values(parts) | _values_of_ranks(plan, found)
    commands: dict[str, object] = {"used": used, "features": found, "carried": ""}
    commands["keeper_paths"] = ()
    if "keeper" in found:
        with_orders = bool({"warns", "stalls", "chain"} & found)
        text = keeper_text("lead" in found, with_orders, "ends_by_order" in found)
        if manifest and not plan.request.chdir:
            commands["keeper_paths"] = keeper_paths(text, manifest)
            commands["keeper_digits"] = digits(text)
        else:
            commands["carried"] = text
    if "each_node" in used:
        commands["each_node"] = _array("each_node", each_node(plan))
    if "start_ranks" in used:
        is_step = "one_torchrun" in found
        words = _one_step(plan) if is_step else start_ranks(plan, "may_lose" in found)
        commands["start_ranks"] = _array("start_ranks", words)
    if "starter" in used:
        name = plan.launch.starter
        commands["starter"] = _FOR_LEAD[name] if "lead" in found else f"({_STARTERS[name]})"
    return commands


def _values_of_ranks(plan: Plan, found: frozenset[str]) -> frozenset[str]:
    """Returns the values that the function `ranks` in the upper part and its start read."""
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


def each_node(plan: Plan) -> list[str]:
    """Returns the command that runs the script once on each node, and fails if one node fails."""
    launch, spares = plan.launch, plan.request.spares
    nodes = '"$((nodes + spares))"' if spares else '"$nodes"'
    if launch.starter == "srun":
        # A torchrun is one task, as is the check, which counts the cores that the ranks will share.
        bound = () if launch.launcher == "srun" else _binding(plan)
        options = _options((*launch.step_options, *bound))
        count = [f"--nodes={nodes}", f"--ntasks={nodes}", "--ntasks-per-node=1"]
        return ["srun", *options, *count, "--export=ALL", "-K0"]
    if plan.request.nodes == 1 and launch.launcher != "mpiexec":
        return ["env"]
    return [*_mpiexec(plan, 1)]


def start_ranks(plan: Plan, chooses_nodes: bool) -> list[str]:
    """Returns the command that runs the script once for each launcher of ranks or each rank."""
    launch, tasks = plan.launch, plan.request.tasks_per_node
    if launch.launcher == "mpiexec":
        return [*_mpiexec(plan, tasks)]
    if launch.starter != "srun":
        return each_node(plan) if launch.plain else ['"${each_node[@]}"']
    options = _options((*_rank_options(plan), *_binding(plan), *_distribution(plan)))
    every = _options(launch.step_options)
    if chooses_nodes:  # the script adds the nodes
        count = ["--ntasks-per-node=1"]
        return ["srun", *every, *options, *count, "--export=ALL", "--no-kill", "-K0"]
    if plan.request.spares or launch.plain:
        ntasks = f"$((nodes * {tasks}))" if tasks > 1 else '"$nodes"'
        count = ['--nodes="$nodes"', f"--ntasks={ntasks}", f"--ntasks-per-node={tasks}"]
        return ["srun", *every, *options, *count, "--export=ALL", "-K1"]
    if launch.launcher == "srun":
        count = [f"--ntasks=$((nodes * {tasks}))", f"--ntasks-per-node={tasks}"]
        order = ["env", 'SLURM_HOSTFILE="$logs/tasks"'] if plan.ordered_at else []
        return [*order, '"${each_node[@]}"', *options, *count, "-K1"]
    # If a slurmstepd is killed, srun never hears that its node has ended: after the end of the
    # first node, srun waits two hours for the others. All torchruns end together.
    return ['"${each_node[@]}"', "--wait=7200", *_options(_rank_options(plan)), "-K1"]


def _binding(plan: Plan) -> tuple[str, ...]:
    return (f"--cpu-bind={plan.launch.cpu_bind}",) if plan.launch.cpu_bind else ()


def _rank_options(plan: Plan) -> Iterator[str]:
    """Returns the user's options without the order of a file: nodes find their number by name."""
    return (each for each in plan.launch.rank_options if not ARBITRARY.fullmatch(each))


def _distribution(plan: Plan) -> tuple[str, ...]:
    """Returns the option to fill node after node, despite SLURM_DISTRIBUTION; the user's wins."""
    own = (*_rank_options(plan), *(each.text for each in plan.request.directives))
    if plan.launch.launcher != "srun":
        return ()
    if plan.ordered_at:
        return ("--distribution=arbitrary",)
    return () if any(re.match("-m|--dist", each) for each in own) else ("--distribution=block",)


def _one_step(plan: Plan) -> list[str]:
    launch, cores = plan.launch, plan.request.cpus_per_task
    options = _options((*launch.step_options, *_rank_options(plan), *_binding(plan)))
    for_cores = [f"--cpus-per-task={cores}"] if cores else []
    return ["srun", "--nodes=1", "--ntasks=1", *for_cores, *options, "--export=ALL"]


def _array(name: str, words: Iterable[str]) -> str:
    """Returns the text of a bash array, in lines of at most WIDTH columns."""
    lines = [f"{name}=("]
    for word in words:
        if len(lines[-1]) + len(word) + 2 > WIDTH:
            lines.append(f"  {word}")
        else:
            lines[-1] += word if lines[-1].endswith("(") else f" {word}"
    return "\n".join(lines) + ")"


def _options(options: Iterable[str]) -> list[str]:
    return [quote_path(option) for option in options]


def _mpiexec(plan: Plan, processes: int) -> Iterator[str]:
    """Yields the words of an mpiexec with `processes` on each node, and the options of its MPI."""
    launch = plan.launch
    is_rank = launch.launcher == "mpiexec" and processes == launch.processes_per_node
    own = _options(launch.mpiexec_options) if is_rank else []
    yield "mpirun" if launch.starter == "mpirun" else "mpiexec"
    yield from ("-n", f"$((nodes * {processes}))" if processes > 1 else '"$nodes"')
    match launch.starter:
        case "mpirun":
            yield from "--map-by ppr:1:node --bind-to none".split()
        case "mpiexec-openmpi":
            yield from ("--hostfile", '"$PBS_NODEFILE"')
            yield from own or f"--map-by ppr:{processes}:node --bind-to none".split()
            yield from '--leave-session-attached --mca plm_rsh_agent "$logs/agent"'.split()
            yield from "--mca plm_rsh_no_tree_spawn 1 --mca orte_keep_fqdn_hostnames 1".split()
        case "mpiexec-mpich":
            yield from ("-f", '"$PBS_NODEFILE"', "-ppn", str(processes))
            yield from own or ("-bind-to", "none")
            # Without -genvnone, all nodes would get the first node's variables, such as its GPUs.
            yield from '-launcher rsh -launcher-exec "$logs/agent" -genvnone'.split()
        case "mpiexec-pals":
            yield from ("--ppn", str(processes), *(own or ("--cpu-bind", "none")))
