"""What a drawing of a job shows, and the same in words."""

from typing import Any

from jobgen.planning.plan import Plan


def drawing_of(plan: Plan) -> dict[str, Any]:
    """The nodes of a job, their ranks on their GPUs, and how they meet.

    `title` is the arithmetic, and `text` says all of it. `gpus_per_node` is 0 if the ranks run on
    the CPU, and `interface` is "" if the script finds it.
    """
    request, launch, network = plan.request, plan.launch, plan.network
    numbers_ranks = launch.launcher != "node"  # its programs are no ranks
    noun, ranks = ("rank", launch.processes_per_node) if numbers_ranks else ("program", 1)
    gpus = 0 if plan.node.gpu == "none" else request.gpus_per_node
    nodes, total = _count(request.nodes, "node"), _count(request.nodes * ranks, noun)
    interface = " or ".join(network.interface)
    port = str(network.port) if network.port else "from the job's id"

    title = f"{nodes} × {_count(*((gpus, 'GPU') if gpus == ranks else (ranks, noun)))} = {total}"
    if gpus != ranks:
        title += f", each node with {_count(gpus, 'GPU')}" if gpus else " on CPUs"
    place = _count(gpus, "GPU") if gpus else "the CPU"
    text = f"{nodes} with {_count(ranks, noun)} each on {place}: {total} in all."
    if plan.elastic:
        title += ", or fewer"
        text += f" The job continues with {request.min_nodes} if others are lost."
    if request.spares:
        text += f" {_count(request.spares, 'spare node')} beside them."
    if request.nodes > 1:
        way = f"{interface or 'the interface that the script finds'}, port {port}"
        text += f" Node 0 is the head: the others connect to it over {way}."
    return {
        "nodes": request.nodes,
        "spares": request.spares,
        "ranks_per_node": ranks,
        "gpus_per_node": gpus,
        "numbers_ranks": numbers_ranks,  # whether node 0 has the first ranks
        "interface": interface,
        "port": port,
        "title": title,
        "text": text,
    }


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
