"""Translates numbers of ranks, GPUs and cores, as other tools count them, to jobgen's options.

The options depend on the nodes of the command line, and on the GPUs of its profile.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from jobgen.other_words.search import answers
from jobgen.profiles.model import Node, Profile

_LETTERS = {"-N": "nodes", "-G": "gpus_per_node", "-n": "ntasks", "-c": "cpus_per_task"}
_RANKS = "--set launch.processes_per_node="
_ALL_RANKS = "ranks of a job"
_UNKNOWN = f"-G {{0}}, or {_RANKS}{{0}} on nodes without GPUs"
_CORES = "--set request.cpus_per_"
Options = Iterable[tuple[str, str]]


class _Given(NamedTuple):
    """The numbers that a command line and its profile give for a job; 0 for an unknown number.

    From the line: `gpus` and `tasks` of a node, `task_gpus` of a task, `ranks` of all nodes. If the
    line names no nodes, `nodes` is the profile's number, and `default_nodes` is true.
    """

    nodes: int
    gpus: int
    tasks: int
    task_gpus: int
    ranks: int
    has_profile: bool
    node_gpus: int
    node_cpus: int
    default_nodes: bool


def size_words(
    command: str,
    flag: str,
    value: str,
    options: Options = (),
    read_profile: Callable[[], Profile | None] = lambda: None,
) -> str:
    """Returns the words to write instead of an option with a number; "" if they are unknown.

    `options` are all options of the command with their values; `read_profile` reads its profile,
    which only an option with a number of ranks needs.
    """
    kind = _kind(flag)
    if kind == "nodes" and command != "byhand" and re.fullmatch(r"\d+[:-]\d+", value):
        return f"-N {value.replace('-', ':')}"
    number = re.fullmatch(r"(?:\w+ )?([1-9]\d{0,5})", value)
    if kind not in _WORDS or not number:
        return ""
    given, count = _given(options, read_profile()), int(number[1])
    is_here = command == "local" and given.default_nodes  # this one machine is meant
    given = given._replace(nodes=1) if is_here else given
    tasks = given.tasks if kind == _ALL_RANKS else count if kind == "tasks of a node" else 0
    if tasks == 1 and (given.gpus or given.node_gpus) > 1:  # the task is a launcher, not a rank
        note = "the script starts one launcher on each node anyway: leave it out"
        return f"{note}; for one rank on each node: -G 1"
    found = _WORDS[kind](count, given)
    return f"-N 1 {found}" if is_here and kind == "ranks of a node" and found else found


def _kind(flag: str) -> str:
    return next(iter(answers("sizes", _LETTERS.get(flag, flag))), "")


def _given(options: Options, profile: Profile | None) -> _Given:
    values = {_kind(name): value for name, value in [*options][::-1]}  # the first value counts
    nodes, gpus, tasks, task_gpus, ranks = (
        int((re.findall(r"\d+", values.get(kind, "")) or ["0"])[-1][:6])
        for kind in ("nodes", "GPUs of a node", "tasks of a node", "GPUs of a task", _ALL_RANKS)
    )
    if not tasks and nodes:
        tasks = ranks // nodes
    task_gpus = task_gpus if task_gpus and (tasks > 1 or ranks) else 1
    several = profile.request.nodes if profile and profile.request.nodes > 1 else 0
    node, sizes = profile.node if profile else Node(), (nodes or several, gpus, tasks, task_gpus)
    has_default = not nodes and several > 0
    return _Given(*sizes, ranks, profile is not None, node.gpus, node.cpus or 0, has_default)


def _of_job(count: int, given: _Given) -> str:
    """Returns the words for ranks of all nodes together, each with a GPU if there are GPUs."""
    nodes, gpus = given.nodes, given.gpus or given.node_gpus
    full = gpus // given.task_gpus  # ranks of a node that uses all its GPUs
    is_too_many = nodes and full and count > nodes * full
    if full and count % full == 0 and (not nodes or given.default_nodes or is_too_many):
        has_note = nodes and not given.default_nodes
        note = f", {count} ranks of {full} on each node" if has_note else ""
        return f"-N {count // full} {_of_node(full, given)}{note}"
    if (not nodes or given.default_nodes) and count < full:
        return f"-N 1 {_of_node(count, given)}"
    if not nodes or count % nodes:
        return _UNKNOWN.format("N")
    return f"-N {nodes} " * given.default_nodes + _of_node(count // nodes, given)


def _gpus_of_job(count: int, given: _Given) -> str:
    """Returns the words for GPUs of all nodes together, as sbatch counts them, or of each node."""
    nodes, gpus = given.nodes, given.node_gpus
    if gpus and (count > gpus or count == given.ranks):
        return _of_job(count, given)
    if given.default_nodes and count % nodes and count <= gpus:
        return f"-N 1 -G {count}"
    if nodes > 1 and count % nodes == 0:
        share = count // nodes
        job = f"{count} are of all {nodes} nodes"
        return f"-G {share}, if {job}; -G {count}, if each node has so many"
    return ""


def _gpus_of_task(count: int, given: _Given) -> str:
    if given.task_gpus > 1:
        return "the words for the tasks count it: leave it out"
    if count == 1 and given.node_gpus:
        return "a rank for each GPU is the default: leave it out"
    return _of_node(count, given)


def _of_node(ranks: int, given: _Given) -> str:
    """Returns the words for a number of ranks on each node."""
    if given.task_gpus > 1:
        return f"-G {ranks * given.task_gpus} {_RANKS}{ranks}"
    if 0 < given.node_gpus < ranks:
        return f"-G {given.node_gpus}, all GPUs of a node"
    if (given.has_profile and not given.node_gpus) or given.gpus not in (0, ranks):
        return f"{_RANKS}{ranks}"
    return f"-G {ranks}" if given.has_profile else _UNKNOWN.format(ranks)


def _cores(count: int, given: _Given) -> str:
    """Returns the words for the cores of a task, which is a rank or the launcher of a node."""
    gpus = given.gpus or given.node_gpus
    if given.tasks and given.tasks != gpus:
        return f"{_CORES}node={count * given.tasks}"
    if given.tasks:
        return f"{_CORES}gpu={count}"
    if gpus and given.node_cpus and count * gpus > given.node_cpus:
        return f"{_CORES}node={count}"
    each = f"{_CORES}gpu={count}, if each rank has so many; {_CORES}node={count}, if a node has"
    return each if gpus else ""


_WORDS = {
    _ALL_RANKS: _of_job,
    "GPUs of a job": _gpus_of_job,
    "GPUs of a task": _gpus_of_task,
    "tasks of a node": _of_node,
    "ranks of a node": _of_node,
    "cores of a task": _cores,
}
