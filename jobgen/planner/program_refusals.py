"""Refuses programs that would start ranks of their own, or several runs, in each rank.

If the program is another launcher, the message translates its options to those of jobgen.
"""

import re
from itertools import pairwise, takewhile
from typing import NamedTuple

from jobgen.errors import problem
from jobgen.planning.plan import Plan
from jobgen.planning.program import AGENT, OtherLauncher, Program, find_launcher, multirun
from jobgen.profiles.resolve import Resolved
from jobgen.quoting import quote

_NODES, _EACH, _ALL = "nodes", "ranks of each node", "ranks of all nodes"
_MPI = ("mpiexec", "mpirun", "orterun", "prun", "horovodrun")
_COUNTS_OF_MPI = {"n": _ALL, "np": _ALL, "ppn": _EACH, "npernode": _EACH}
_COUNTS = {
    "torchrun": {"nnodes": _NODES, "nproc-per-node": _EACH},
    "accelerate launch": {"num-machines": _NODES, "num-processes": _ALL},
    "deepspeed": {"num-nodes": _NODES, "num-gpus": _EACH},
    "composer": {"nproc": _EACH, "n": _EACH, "world-size": _ALL},
    "srun": {"nodes": _NODES, "N": _NODES, "ntasks": _ALL, "n": _ALL, "ntasks-per-node": _EACH},
    **dict.fromkeys(_MPI, _COUNTS_OF_MPI),
}
# Options for a node's number and for the rendezvous; the templates in planning/program.py set them.
_MEETING = frozenset(
    """
    node-rank machine-rank master-addr master-port main-process-ip main-process-port standalone
    rdzv-backend rdzv-endpoint rdzv-id rdzv-conf same-network local-addr
    hostfile H include i exclude e no-ssh launcher ssh-port
    """.split()
)
# Launchers whose options change how the program runs; without the launcher, they are lost.
_DO_MORE = ("accelerate launch", "deepspeed", "composer")
_VARIABLES = {
    "mixed-precision": "ACCELERATE_MIXED_PRECISION",
    "dynamo-backend": "ACCELERATE_DYNAMO_BACKEND",
}
_WAYS_OF_MPI = {"slurm": "srun", "pbs": "mpiexec"}  # jobgen's launchers of ranks numbered by MPI


class _Words(NamedTuple):
    """The options of another launcher, as words for a command line.

    `sizes` and `options` are options of jobgen. `own` are options that the launcher needs on each
    node; `lost` are those of `own` that the program would lose without its launcher.
    """

    sizes: list[str]
    options: list[str]
    own: list[str]
    lost: list[str]


def check_program(program: Program, base: Plan, resolved: Resolved, by_hand: bool) -> None:
    """Raise JobgenError for a program that the launcher of `base`, the plan so far, cannot start.

    A program that is itself a launcher would start a world of its own in each rank.
    """
    launcher = base.launch.launcher
    if launcher == "node" and program.kind == "trainer":
        text = "the launcher node starts a program once on each node; a trainer is started as ranks"
        hint = "give a program: -- PROGRAM ARGS…, or use the launcher torchrun"
        raise resolved.conflict("launch.launcher", text, hint)
    found = find_launcher(program)
    if found and found.name != AGENT:
        others = _launcher_words(found, base, resolved.profile.node.gpus, by_hand)
        _check_own_launcher(program, found, others, base, by_hand)
    ranks = base.request.nodes * base.launch.processes_per_node
    if launcher != "node" and ranks > 1:
        _check_runs(program, found, ranks)
    words = (program.name, *program.arguments)
    variables = [*takewhile(re.compile(r"[A-Za-z_]\w*=[^/]*").fullmatch, words)]
    if 0 < len(variables) < len(words):
        options = "".join(f"-e {quote(word)} " for word in variables)
        rest = " ".join(map(quote, words[len(variables) :]))
        text = f"{program.name!r:.80} is a variable, and would be started as a program"
        raise problem("--", text, "value", f"write: {options}-- {rest}")
    if program.kind == "command" and launcher != "torchrun" and "=" in program.name:
        hint = "give it another name, or use the launcher torchrun"
        text = f"the program {program.name!r:.80} has a = in its name"
        raise problem("--", text, "value", hint)


def _check_own_launcher(
    program: Program, found: OtherLauncher, words: _Words, base: Plan, by_hand: bool
) -> None:
    inner = " ".join(map(quote, found.inner))
    before = "".join(f"{quote(word)} " for word in found.before)
    rest = " ".join((*words.own, inner or "…"))
    on_nodes = before * ("…" in found.template) + found.template.replace("…", rest)
    given = [value for flag, value in pairwise(found.options) if flag in ("--hostfile", "-H")]
    on_nodes = on_nodes.replace("FILE", quote(given[0])) if given else on_nodes
    if base.launch.launcher == "node":
        text = " ".join(program.arguments)
        is_told = re.search("%[nh]|JOBGEN_", text) or "%n" not in found.template
        if base.request.nodes > 1 and not is_told:
            text = f"{found.name} is not told which node it is on, and would train on each alone"
            hint = f"write: {' '.join((*words.sizes, '--', on_nodes))}"
            raise problem("--", text, "conflict", hint)
        return
    text = f"{found.name} starts ranks itself, and would be started for each rank"
    has_other = bool(found.template) and not by_hand
    hints = ["give the program that it starts"] * (not words.lost or not has_other)
    if inner and hints:
        python = "python " * bool(before)
        line = " ".join((*words.sizes, *words.options, "--", f"{before}{python}{inner}"))
        without = f", which is then without {' '.join(words.lost)}" * bool(words.lost)
        hints = [f"{hints[0]}: {line}{without}"]
    if has_other:
        line = " ".join(("--launcher node", *words.sizes, "--", on_nodes))
        hints.append(f"start it once on each node: {line}")
    elif inner and found.name in _MPI and not by_hand and (way := _WAYS_OF_MPI.get(base.scheduler)):
        line = " ".join((*words.sizes, "--", inner))
        hints.append(f"if it has its rank from MPI, as with Horovod: --launcher {way} {line}")
    raise problem("--", text, "conflict", ", or ".join(hints))


def _check_runs(program: Program, found: OtherLauncher | None, ranks: int) -> None:
    """Raise JobgenError for a program that makes several runs: each rank would do all of them."""
    if found:
        text = f"each of {ranks} ranks would be a {AGENT}, with runs of its own"
        words = " ".join(map(quote, (program.name, *program.arguments)))
        hint = f"one on each node: --launcher node -- {words}, and in the sweep `command:"
        hint += " [torchrun, --standalone, --nproc-per-node=gpu, '${program}', '${args}']`"
        raise problem("--", text, "conflict", hint)
    if run := multirun(program):
        text = f"a multirun of Hydra: each of {ranks} ranks would do all runs"
        hint = f"a job for each run, as -- {' '.join(map(quote, run))}; `jobgen build` makes them"
        hint += " of a `matrix`, or Hydra by hydra/launcher=jobgen"
        raise problem("--", text, "conflict", hint)


def _launcher_words(found: OtherLauncher, base: Plan, node_gpus: int, by_hand: bool) -> _Words:
    """Returns the words for a launcher's options, for a job with the sizes of `base`.

    Sizes that the job has already are left out; by hand also the nodes, which are the hosts.
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
    sizes = [f"-N {nodes}"] if nodes not in (0, base.request.nodes) and not by_hand else []
    if ranks not in (0, base.launch.processes_per_node):
        path = "-G " if ranks <= node_gpus else "--set launch.processes_per_node="
        sizes.append(f"{path}{ranks}")
    return _Words(sizes, options, own, lost)


def _options(found: OtherLauncher) -> list[tuple[str, str, str]]:
    """Returns each option's name, with hyphens; its value; and both as the user typed them."""
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
    """Returns the nodes, and the ranks of each node, from the `given` counts; 0 if unknown."""
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
