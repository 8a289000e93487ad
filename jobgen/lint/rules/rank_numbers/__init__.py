"""Rules about the numbers of nodes and ranks that a script computes itself."""

import re

from jobgen.lint.launchers import (
    STEP_COUNTS,
    Launcher,
    launchers,
    runs_on_all_nodes,
    starter_option,
    work_commands,
)
from jobgen.lint.reader.commands import OUTER, starter_of
from jobgen.lint.reader.directives import whole_number
from jobgen.lint.rules import Findings, Script, finding_at


def jg106_world_size(script: Script) -> Findings:
    sruns = [command for command in script.commands if command.name == "srun"]
    has_counts = any(starter_option(srun.words, *STEP_COUNTS) for srun in sruns)
    if not sruns or has_counts or launchers(script):
        return
    tasks, gpus = script.number("ntasks-per-node"), script.gpus_per_node
    assignment, nodes = script.constant("WORLD_SIZE"), script.nodes
    if tasks and gpus and assignment and nodes:
        world_size = whole_number(assignment.value.text)
        # The tasks may start a rank for each GPU.
        if world_size and world_size not in (tasks * nodes, gpus.count * nodes):
            text = f"WORLD_SIZE is {world_size}, but {tasks * nodes} ranks are started"
            yield finding_at(assignment, text, "use WORLD_SIZE=$SLURM_NTASKS")


_NUMBER = re.compile(r"\$\{?(SLURM_(?:NODEID|PROCID))\b")


def jg113_same_node_rank(script: Script) -> Findings:
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


_OWN_NUMBER = re.compile(r"\$\{?(SLURM_(?:PROCID|LOCALID|NODEID))(?::?-0)?\}?")
_TASKS = ("nodes", "ntasks", "ntasks-per-node")


def jg120_rank_of_batch_script(script: Script) -> Findings:
    has_several_tasks = any((script.number(option) or 1) > 1 for option in _TASKS)
    if script.scheduler != "slurm" or script.runs_itself or not has_several_tasks:
        return
    runs = [
        command.offset
        for command in work_commands(script)
        if starter_of(command) == "srun" and runs_on_all_nodes(script, command)
    ]
    # A launcher gives the ranks their own numbers.
    for name in ("RANK", "LOCAL_RANK") if runs and not launchers(script) else ():
        for assignment in script.assignments_of(name)[-1:]:
            number = _OWN_NUMBER.fullmatch(assignment.value.text)
            is_exported = assignment.is_for_command or name in script.exports
            is_before_run = assignment.depth == 0 and assignment.offset <= max(runs)
            if number and is_exported and is_before_run:
                text = f"{name} is 0 for every task: ${number[1]} is 0 in the batch script"
                cure = f"set it in each task: srun bash -c '{name}=${number[1]} …'"
                yield finding_at(assignment, text, cure)
