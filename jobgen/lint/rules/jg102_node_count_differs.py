"""The launcher and the job have different numbers of nodes."""

import re

from jobgen.lint.launchers import Launcher, launchers, outer_command, starter_option
from jobgen.lint.rules import Findings, Script, finding_at

_OWN_NODES = ("-N", "--nodes", "-w", "--nodelist", "-n", "--ntasks")
_LOOPS = frozenset(("for_statement", "while_statement", "c_style_for_statement"))


def check(script: Script) -> Findings:
    job_nodes, found = script.nodes, launchers(script)
    if job_nodes is None or script.runs_itself:
        return
    for launcher in found:
        nodes = launcher.number("nnodes") or 1
        if nodes in (1, job_nodes) or _may_be_right(script, launcher, nodes > job_nodes):
            continue
        if nodes > job_nodes or len(found) == 1:  # else the others may use the other nodes
            text = f"{launcher.name} is for {nodes} nodes, but the job has {job_nodes}"
            cure = f"use the same number, or {launcher.option_name('nnodes')}=$SLURM_NNODES"
            yield finding_at(launcher.options["nnodes"], text, cure)


def _may_be_right(script: Script, launcher: Launcher, is_more: bool) -> bool:
    """Whether it may be for a part of the nodes, or started by hand on each.

    A node's rank that is an argument of the script says that a job is submitted for each node.
    """
    rank = script.resolved(launcher.value("node-rank"))
    if launcher.number("node-rank") is not None or re.match(r"\$\{?\d", rank):
        return True
    outer = outer_command(script, launcher.command)
    if outer.enclosing & _LOOPS:  # each round may start one agent, on a node of this job
        return not (is_more and (script.nodes or 1) > 1)
    return bool(starter_option(outer.words, *_OWN_NODES))
