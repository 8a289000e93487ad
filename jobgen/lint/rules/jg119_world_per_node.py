"""Each node trains alone."""

import re

from jobgen.lint.launchers import launchers, runs_on_all_nodes
from jobgen.lint.rules import Findings, Script, finding_at

# Each node has other work if its number is in the command; a file may have the number of nodes.
_OTHER_WORK = re.compile(r"SLURM_(NODEID|PROCID)|hostname|NODENAME")
_HAS_NODES = {"config-file", "hostfile", "no-ssh", "node-rank", "launcher"}


def check(script: Script) -> Findings:
    nodes = script.nodes or 1
    if nodes < 2 or script.runs_itself or "PET_NNODES" in script.exports:
        return
    for launcher in launchers(script):
        if launcher.is_multi_node or not runs_on_all_nodes(script, launcher.command):
            continue
        has_own_work = _OTHER_WORK.search(launcher.command.text)
        may_have_number = not launcher.has_all_options or launcher.options.keys() & _HAS_NODES
        if launcher.value("nnodes") or not (has_own_work or may_have_number):
            text = f"{nodes} worlds instead of one: each node starts a {launcher.name} for itself"
            option = launcher.option_name("nnodes")
            cure = f"use {option}=$SLURM_NNODES, and a rendezvous that all nodes share"
            yield finding_at(launcher.options.get("nnodes", launcher.word), text, cure)
