"""Every node gets the same rank."""

import re

from jobgen.lint.launchers import Launcher, launchers, runs_on_all_nodes
from jobgen.lint.reader.commands import OUTER
from jobgen.lint.rules import Findings, Script, finding_at

_NUMBER = re.compile(r"\$\{?(SLURM_(?:NODEID|PROCID))\b")


def check(script: Script) -> Findings:
    if script.nodes == 1 or script.runs_itself or "c10d" in script.text:
        return
    for launcher in launchers(script):
        name, is_static = launcher.name, launcher.value("rdzv-backend") in ("", "static")
        by_srun = launcher.starter == "srun" and runs_on_all_nodes(script, launcher.command)
        if name == "deepspeed" or not launcher.is_multi_node or not is_static or not by_srun:
            continue
        if text := _same_rank(script, launcher):
            option = launcher.option_name("node-rank")
            cure = f"use srun bash -c '{name} … {option}=$SLURM_NODEID …', or --rdzv-backend=c10d"
            yield finding_at(launcher.options.get("node-rank", launcher.word), text, cure)


def _same_rank(script: Script, launcher: Launcher) -> str:
    """Why all nodes have the same rank; "" if they may have different ones."""
    word = launcher.options.get("node-rank")
    if not word:
        may_be_hidden = not launcher.has_all_options or "config-file" in launcher.options
        may_be_set = "_NODE_RANK" in script.text or "NODE_RANK" in script.exports
        return "" if may_be_hidden or may_be_set else "no node gets a rank: each takes rank 0"
    if launcher.number("node-rank") is not None and word.is_literal:
        return f"every node gets the rank {word.text}"
    if launcher.command.depth and _NUMBER.search(word.raw):
        return ""  # the node's shell expands it
    found = _NUMBER.search(script.resolved(re.sub(rf"{OUTER}(\w+)", r"$\1", word.text)))
    if not found or f"\\${found[1]}" in script.text:
        return ""
    return f"every node gets the rank 0: ${found[1]} is expanded before srun starts it"
