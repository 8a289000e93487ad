"""What the options of another launcher say: sizes for jobgen, and what that launcher alone does."""

import re
from typing import NamedTuple

from jobgen.planning.plan import Plan
from jobgen.planning.program import OtherLauncher
from jobgen.quoting import quote

_NODES, _EACH, _ALL = "nodes", "ranks of each node", "ranks of all nodes"
MPI = ("mpiexec", "mpirun", "orterun", "prun", "horovodrun")
_COUNTS_OF_MPI = {"n": _ALL, "np": _ALL, "ppn": _EACH, "npernode": _EACH}
_COUNTS = {
    "torchrun": {"nnodes": _NODES, "nproc-per-node": _EACH},
    "accelerate launch": {"num-machines": _NODES, "num-processes": _ALL},
    "deepspeed": {"num-nodes": _NODES, "num-gpus": _EACH},
    "composer": {"nproc": _EACH, "n": _EACH, "world-size": _ALL},
    "srun": {"nodes": _NODES, "N": _NODES, "ntasks": _ALL, "n": _ALL, "ntasks-per-node": _EACH},
    **dict.fromkeys(MPI, _COUNTS_OF_MPI),
}
# Which node it is on, and where all meet: what a template in planning/program.py says itself.
_MEETING = frozenset(
    """
    node-rank machine-rank master-addr master-port main-process-ip main-process-port standalone
    rdzv-backend rdzv-endpoint rdzv-id rdzv-conf same-network local-addr
    hostfile H include i exclude e no-ssh launcher ssh-port
    """.split()
)
# Launchers whose options change how the program runs; alone, it would run without them.
_DO_MORE = ("accelerate launch", "deepspeed", "composer")
_VARIABLES = {
    "mixed-precision": "ACCELERATE_MIXED_PRECISION",
    "dynamo-backend": "ACCELERATE_DYNAMO_BACKEND",
}


class LauncherWords(NamedTuple):
    """The words for a launcher's options, each ready for a command line.

    `sizes` and `options` are jobgen's, `own` those that the launcher needs on each node, and
    `lost` those of them that the program alone would be without.
    """

    sizes: list[str]
    options: list[str]
    own: list[str]
    lost: list[str]


def launcher_words(found: OtherLauncher, base: Plan, node_gpus: int) -> LauncherWords:
    """The words for the options of a launcher, in a job with the sizes of `base`, the plan so far.

    Sizes that the job has anyway are left out.
    """
    options, own, lost = list[str](), list[str](), list[str]()
    counts = _COUNTS.get(found.name, {})
    given = dict.fromkeys((_NODES, _EACH, _ALL), 0)
    for name, value, words in _options(found):
        if name in counts:
            given[counts[name]] = int(value) if re.fullmatch(r"[1-9]\d{0,5}", value) else 0
        elif name not in _MEETING:
            own.append(words)
            if name == "max-restarts" and found.name == "torchrun":
                options.append(f"--max-restarts {quote(value)}")
            elif name in _VARIABLES and found.name == "accelerate launch":
                options.append(f"-e {quote(f'{_VARIABLES[name]}={value}')}")
            elif name != "multi-gpu" and found.name in _DO_MORE:
                lost.append(words)
    nodes, ranks = _nodes_and_ranks(given, base, node_gpus)
    sizes = [f"-N {nodes}"] if nodes not in (0, base.request.nodes) else []
    if ranks not in (0, base.launch.processes_per_node):
        path = "-G " if ranks <= node_gpus else "--set launch.processes_per_node="
        sizes.append(f"{path}{ranks}")
    return LauncherWords(sizes, options, own, lost)


def _options(found: OtherLauncher) -> list[tuple[str, str, str]]:
    """The name of each option, with hyphens, its value, and both as they were typed."""
    options = []
    words = [*found.options]
    while words:
        word = words.pop(0)
        if not word.startswith("-"):  # such as the python before a script
            continue
        name, equals, value = word.partition("=")
        typed = quote(word)
        if not equals and words and not words[0].startswith("-"):
            value = words.pop(0)
            typed += f" {quote(value)}"
        options.append((name.lstrip("-").replace("_", "-"), value, typed))
    return options


def _nodes_and_ranks(given: dict[str, int], base: Plan, node_gpus: int) -> tuple[int, int]:
    """The nodes, and the ranks of each, for some of three counts; 0 for what is not known."""
    nodes, each, total = given[_NODES], given[_EACH], given[_ALL]
    if not total or (nodes and each):
        return nodes, each
    if each:
        return (total // each, each) if total % each == 0 else (0, each)
    if not nodes:
        nodes = base.request.nodes
        if node_gpus and total > nodes * node_gpus and total % node_gpus == 0:
            nodes = total // node_gpus
    return (nodes, total // nodes) if total % nodes == 0 else (nodes, 0)
