"""Numbers of ranks, GPUs and cores, as other tools count them, and what says the same to jobgen.

What that is depends on the nodes of the command line, and on the GPUs of its profile.
"""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from typing import NamedTuple

from jobgen.errors import JobgenError
from jobgen.other_words.search import answers
from jobgen.profiles.resolve import Profiles

_LETTERS = {"-N": "nodes", "-G": "gpus_per_node", "-n": "ntasks", "-c": "cpus_per_task"}
_RANKS = "--set launch.processes_per_node="
_ALL_RANKS = "ranks of a job"
_UNKNOWN = f"-G {{0}}, or {_RANKS}{{0}} on nodes without GPUs"
_CORES = "--set request.cpus_per_"


class _Given(NamedTuple):
    """What a command line and its profile say of a job: 0 for what is unknown.

    `gpus` and `tasks` are those of a node that the line names, `task_gpus` those of a task; if it
    names no nodes, they are the profile's, and `default_nodes` is true; `ranks` are those of all.
    """

    nodes: int = 0
    gpus: int = 0
    tasks: int = 0
    task_gpus: int = 1
    ranks: int = 0
    profile: str = ""
    node_gpus: int = 0
    node_cpus: int = 0
    default_nodes: bool = False


def size_words(command: str, flag: str, value: str, args: Sequence[str] = ()) -> str:
    """What to write instead of an option with a number; "" if unknown.

    `args` are all words of the command, if they are known.
    """
    kind = _kind(flag)
    if kind == "nodes" and command != "byhand" and re.fullmatch(r"\d+[:-]\d+", value):
        return f"-N {value.replace('-', ':')}"
    number = re.fullmatch(r"(?:\w+ )?([1-9]\d{0,5})", value)
    if not kind or not number:
        return ""
    given = _given(command, args)
    if command == "local" and given.default_nodes:  # the machine alone is meant
        given = given._replace(nodes=1)
    count = int(number[1])
    tasks = given.tasks if kind == _ALL_RANKS else count if kind == "tasks of a node" else 0
    if tasks == 1 and (given.gpus or given.node_gpus) > 1:  # the launcher, and no rank
        note = "the script starts one launcher on each node anyway: leave it out"
        return f"{note}; for one rank on each node: -G 1"
    found = _WORDS[kind](count, given) if kind in _WORDS else ""
    is_one_node = command == "local" and kind == "ranks of a node" and given.default_nodes
    return f"-N 1 {found}" if is_one_node and found else found


def _kind(flag: str) -> str:
    return next(iter(answers("sizes", _LETTERS.get(flag, flag if len(flag) > 2 else ""))), "")


def _given(command: str, args: Sequence[str]) -> _Given:
    found: dict[str, str] = {}
    for name, value in options_of(args):
        found.setdefault("profile" if name == "--profile" else _kind(name), value)
    name = found.get("profile") or os.environ.get("JOBGEN_PROFILE", "")
    name = "local" if command == "local" and not name else name
    nodes, gpus, tasks, task_gpus, ranks = (
        int((re.findall(r"\d+", found.get(kind, "")) or ["0"])[-1][:6])
        for kind in ("nodes", "GPUs of a node", "tasks of a node", "GPUs of a task", _ALL_RANKS)
    )
    if not tasks and nodes:
        tasks = ranks // nodes
    task_gpus = task_gpus if task_gpus and (tasks > 1 or ranks) else 1
    with suppress(JobgenError):
        profile = Profiles().load(name).profile if name else None
        if profile:
            several = profile.request.nodes if profile.request.nodes > 1 else 0
            node = profile.node
            has_default = not nodes and several > 0
            sizes = (nodes or several, gpus, tasks, task_gpus, ranks)
            return _Given(*sizes, name, node.gpus, node.cpus or 0, has_default)
    return _Given(nodes, gpus, tasks, task_gpus)


def options_of(args: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The options before `--` with their values."""
    end = args.index("--") if "--" in args else len(args)
    words = [*args[:end], ""]
    for word, following in pairwise(words):
        name, equals, value = word.partition("=")
        if short := re.fullmatch(r"(-[NGnc])(\d+)", word):
            yield short[1], short[2]
        elif name.startswith("-"):
            yield name, value if equals else following


def _of_job(count: int, given: _Given) -> str:
    """The words for ranks of all nodes, each with a GPU where there are some."""
    nodes, gpus = given.nodes, given.gpus or given.node_gpus
    full = gpus // given.task_gpus  # the ranks of a node with all its GPUs
    is_too_many = nodes and full and count > nodes * full
    if full and count % full == 0 and (not nodes or given.default_nodes or is_too_many):
        has_note = nodes and not given.default_nodes
        note = f", {count} ranks of {full} on each node" if has_note else ""
        return f"-N {count // full} {_of_node(full, given)}{note}"
    if (not nodes or given.default_nodes) and count < full:
        return f"-N 1 {_of_node(count, given)}"
    if not nodes or count % nodes:
        return "" if given.profile else _UNKNOWN.format("N")
    return f"-N {nodes} " * given.default_nodes + _of_node(count // nodes, given)


def _gpus_of_job(count: int, given: _Given) -> str:
    """The words for GPUs of all nodes, as sbatch counts them, or of each."""
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
    """The words for ranks of each node."""
    if given.task_gpus > 1:
        return f"-G {ranks * given.task_gpus} {_RANKS}{ranks}"
    if 0 < given.node_gpus < ranks:
        return f"-G {given.node_gpus}, all GPUs of a node"
    if (given.profile and not given.node_gpus) or given.gpus not in (0, ranks):
        return f"{_RANKS}{ranks}"
    return f"-G {ranks}" if given.profile else _UNKNOWN.format(ranks)


def _cores(count: int, given: _Given) -> str:
    """The words for the cores of a task, which may be a rank or the launcher of a node."""
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
