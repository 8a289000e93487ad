"""Two directives contradict each other.

sbatch refuses some of these at once; of others one counts, and the job is not what the script
says. Refused: two of --mem, --mem-per-cpu, --mem-per-gpu; --cpus-per-gpu with --cpus-per-task;
--ntasks-per-gpu with --gpus-per-task; --gpus that is not the GPUs a node times the nodes; more tasks
than --ntasks-per-node times the nodes; a --nodelist of more nodes than --nodes, or with one that
--exclude has, too. Taken back: of --exclusive and --oversubscribe, --requeue and --no-requeue the
first; --gpus-per-node, where --gres says another number; nodes, where --ntasks is less than --nodes.

Evidence: each tried with Slurm 22.05; `--nodes=2 --ntasks=1` gives "can't run 1 processes on 2 nodes,
setting nnodes to 1".

Cure: say one of the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.byhand import expanded
from jobgen.errors import JobgenError
from jobgen.lint.directives import Directive, whole
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks=1
#SBATCH --gres=gpu:4
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --ntasks=2
#SBATCH --gres=gpu:4
srun torchrun --nnodes=2 --nproc-per-node=4 --rdzv-backend=c10d --rdzv-endpoint=$HEAD:29500 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if script.scheduler != "slurm" or re.search("(?i)hetjob|packjob", script.text):
        return
    for first, second, what in _pairs(script):
        later, earlier = sorted((first, second), key=lambda each: (-each.line, -each.column))
        yield at(later, f"{what} (line {earlier.line})", "say one of the two")


def _pairs(script: Script) -> Iterator[tuple[Directive, Directive, str]]:
    """Two directives that do not go together, and why."""
    for names in _REFUSED + _TAKEN_BACK:
        told = [each for name in names if (each := script.option(name))]
        if len(told) > 1:
            said = " and ".join(f"--{each.option}" for each in told[:2])
            why = "sbatch refuses them" if names in _REFUSED else "the last one counts"
            yield told[0], told[1], f"{said} exclude each other: {why}"
    yield from _counts(script)
    listed, without = script.option("nodelist"), script.option("exclude")
    nodes = script.option("nodes")
    if listed and without and (both := _hosts(listed) & _hosts(without)):
        yield listed, without, f"{min(both)} is asked for and excluded: sbatch refuses it"
    if listed and nodes and script.nodes and len(_hosts(listed)) > script.nodes:
        count = len(_hosts(listed))
        yield listed, nodes, f"{count} hosts of --nodelist are more than --nodes: sbatch refuses it"


_REFUSED = [
    ("mem", "mem-per-cpu", "mem-per-gpu"),
    ("cpus-per-gpu", "cpus-per-task"),
    ("gpus-per-task", "ntasks-per-gpu"),
]
_TAKEN_BACK = [("exclusive", "oversubscribe"), ("requeue", "no-requeue")]


def _counts(script: Script) -> Iterator[tuple[Directive, Directive, str]]:
    """Numbers of nodes, tasks and GPUs that do not fit."""
    nodes, tasks, each = (script.option(name) for name in ("nodes", "ntasks", "ntasks-per-node"))
    count, ranks = script.nodes, whole(tasks.value) if tasks else None
    if nodes and tasks and count and ranks and ranks < count:
        text = f"{ranks} tasks cannot be on {count} nodes: the job gets {ranks}"
        yield nodes, tasks, text
    most = whole(each.value) if each else None
    if tasks and each and count and ranks and most and ranks > most * count:
        text = f"{ranks} tasks are more than {most} on each of {count} nodes: sbatch refuses them"
        yield tasks, each, text
    gres, all_, own = (script.option(name) for name in ("gres", "gpus", "gpus-per-node"))
    in_gres, in_all, in_own = (_gpus(each) for each in (gres, all_, own))
    if gres and own and in_gres and in_own and in_gres != in_own:
        yield gres, own, f"--gres asks for {in_gres} GPUs a node, --gpus-per-node for {in_own}"
    node, a_node = (gres, in_gres) if in_gres else (own, in_own)
    if node and all_ and in_all and a_node and count and in_all != a_node * count:
        text = f"{in_all} GPUs of the job are not {a_node} on each of {count} nodes"
        yield node, all_, f"{text}: sbatch refuses them"


def _gpus(told: Directive | None) -> int | None:
    found = (
        re.fullmatch(r"(?:gres/)?(?:gpu:)?(?:[A-Za-z][\w.-]*:)?(\d{1,4})", told.value)
        if told
        else None
    )
    return int(found[1]) if found else None


def _hosts(told: Directive) -> set[str]:
    try:
        return set(expanded([told.value]))
    except JobgenError:
        return set()
