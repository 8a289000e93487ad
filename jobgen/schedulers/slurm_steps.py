"""Options of srun, as a profile gives them for the steps of a job."""

from __future__ import annotations

import re

from jobgen.errors import problem

# What a step cannot do without: its container, its network and its kind of MPI. All others (such as
# --gpu-bind) divide a node among ranks, and the check of a node has to see all of it.
_OF_EVERY_STEP = re.compile(r"--(environment|network|mpi|uenv|view|container-[a-z-]+)(=|$)")
# Options that contradict the script that jobgen plans, with what to use instead.
_PLANNED = {
    **dict.fromkeys(("nodes", "N"), "jobgen's own -N, or request.nodes"),
    **dict.fromkeys(
        ("ntasks", "n", "ntasks-per-node", "ntasks-per-gpu"), "--set launch.processes_per_node=N"
    ),
    **dict.fromkeys(("nodelist", "w", "nodefile", "F"), "request.directives"),
    **dict.fromkeys(("exclude", "x"), "request.exclude"),
    **dict.fromkeys(("kill-on-bad-exit", "K", "no-kill", "k"), "-N MIN:MAX if nodes may be lost"),
    **dict.fromkeys(("relative", "r", "multi-prog", "pty", "jobid"), "leave it out"),
    **dict.fromkeys(("chdir", "D"), "request.chdir"),
    "export": "-e NAME=VALUE",
    "cpus-per-task": "--set node.cpus=N",
    "overlap": "leave it out",
}


def sorted_options(options: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Those of every step, and those of the step that starts the ranks.

    Raises JobgenError for what is not an option of srun, and for one that jobgen plans.
    """
    for text in options:
        _check(text)
    every_step = tuple(text for text in options if _OF_EVERY_STEP.match(text))
    return every_step, tuple(text for text in options if text not in every_step)


def _check(text: str) -> None:
    place = "launch.srun_options"
    found = re.fullmatch(r"--([a-z][a-z0-9_-]*)(=.*)?|-([A-Za-z])(.*)", text, re.DOTALL)
    if not found or re.match(r"\s", found[4] or ""):
        hint = "one word for each option: --OPTION=VALUE, or a letter with its value, such as -c7"
        raise problem(place, f"{text!r:.80} is not an option of srun", "value", hint)
    name = found[1] or found[3]
    if name in _PLANNED:
        flag = f"--{name}" if found[1] else f"-{name}"
        raise problem(place, f"jobgen sets {flag} itself", "conflict", f"use {_PLANNED[name]}")
