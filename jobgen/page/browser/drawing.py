"""What a drawing of a job shows, and the same in words."""

from typing import NamedTuple

from jobgen.planning.plan import Plan


class Drawing(NamedTuple):
    """The nodes of a job, their ranks on their GPUs, and how they meet.

    `title` is the arithmetic, and `text` says all of it.
    """

    nodes: int
    spares: int
    ranks_per_node: int
    gpus_per_node: int  # 0: the ranks run on the CPU
    numbers_ranks: bool  # whether node 0 has the first ranks
    interface: str  # "": the script finds it
    port: str
    title: str
    text: str


def drawing_of(plan: Plan) -> Drawing:
    """The drawing of a plan."""
    request, launch, network = plan.request, plan.launch, plan.network
    ranks = 1 if launch.launcher == "node" else launch.processes_per_node
    gpus = 0 if plan.node.gpu == "none" else request.gpus_per_node
    numbers_ranks = launch.launcher != "node"  # its programs are no ranks
    interface = " or ".join(network.interface)
    port = str(network.port) if network.port else "from the job's id"
    drawing = Drawing(
        request.nodes, request.spares, ranks, gpus, numbers_ranks, interface, port, "", ""
    )
    title = f"{_title(drawing)}, or fewer" if plan.elastic else _title(drawing)
    return drawing._replace(title=title, text=" ".join(_sentences(drawing, plan)))


def _title(drawing: Drawing) -> str:
    """Such as 2 nodes × 4 GPUs = 8 ranks."""
    nodes, ranks, gpus = drawing.nodes, drawing.ranks_per_node, drawing.gpus_per_node
    noun = "rank" if drawing.numbers_ranks else "program"
    factor = _count(gpus, "GPU") if gpus == ranks else _count(ranks, noun)
    text = f"{_count(nodes, 'node')} × {factor} = {_count(nodes * ranks, noun)}"
    if gpus == ranks:
        return text
    return f"{text}, each node with {_count(gpus, 'GPU')}" if gpus else f"{text} on CPUs"


def _sentences(drawing: Drawing, plan: Plan) -> list[str]:
    nodes, ranks = drawing.nodes, drawing.ranks_per_node
    total = nodes * ranks
    noun = "program" if plan.launch.launcher == "node" else "rank"
    text = f"{_count(nodes, 'node')} with {_count(ranks, noun)} each"
    text += (
        f" on {_count(drawing.gpus_per_node, 'GPU')}" if drawing.gpus_per_node else " on the CPU"
    )
    sentences = [f"{text}: {_count(total, noun)} in all."]
    if plan.elastic:
        sentences.append(f"The job continues with {plan.request.min_nodes} if others are lost.")
    if drawing.spares:
        sentences.append(f"{_count(drawing.spares, 'spare node')} beside them.")
    if nodes > 1:
        interface = drawing.interface or "the interface that the script finds"
        sentences.append(
            f"Node 0 is the head: the others connect to it over {interface}, port {drawing.port}."
        )
    return sentences


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
