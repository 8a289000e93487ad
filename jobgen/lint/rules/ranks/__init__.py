"""Rules about ranks: as many as a node has GPUs, the cores that they need, and their numbers."""

import re
from collections import Counter
from collections.abc import Sequence
from math import ceil, inf

from jobgen.lint.launchers import (
    STEP_COUNTS,
    Launcher,
    launchers,
    outer_command,
    runs_on_all_nodes,
    starter_option,
    torchruns,
    work_commands,
)
from jobgen.lint.reader.commands import OUTER, UNCERTAIN, starter_of
from jobgen.lint.reader.directives import whole_number
from jobgen.lint.rules import Directive, Findings, Gpus, Script, Word, finding_at, optional


def jg103_more_ranks_than_gpus(script: Script) -> Findings:
    gpus, total = script.gpus_per_node, script.directive("gpus")
    if script.directive("exclusive"):
        return
    for launcher in launchers(script):
        ranks, nodes = launcher.ranks_per_node, script.nodes if launcher.is_multi_node else 1
        cure = "request as many GPUs, or start fewer ranks"
        if ranks and gpus and ranks.count > gpus.count > 0:
            text = f"{ranks.count} ranks per node, but line {gpus.line} requests {gpus.count} GPUs"
            yield finding_at(ranks.word, text, cure)
        elif ranks and not gpus and total and nodes and ranks.count * nodes > (total.gpus or inf):
            text = f"{ranks.count * nodes} ranks, but line {total.line} requests {total.gpus} GPUs"
            yield finding_at(ranks.word, f"{text} for the whole job", cure)


def jg105_several_agents_per_node(script: Script) -> Findings:
    for launcher in launchers(script):
        name, ranks = launcher.name, launcher.ranks_per_node
        outer = outer_command(script, launcher.command)
        if outer.name != "srun" or name == "deepspeed" or (ranks and ranks.count <= 1):
            continue
        is_in_branch = launcher.command.depth and launcher.command.enclosing & UNCERTAIN
        if is_in_branch and _TESTS_OWN_NUMBER.search(script.text):
            continue  # the shell of each task may start it in one task only
        place = launcher.word.line, launcher.word.column
        before = [word for word in outer.words if (word.line, word.column) < place]
        cure = f"use --ntasks-per-node=1: {name} itself starts the ranks"
        if tasks := _tasks_per_node(script, before):
            text = f"srun starts {tasks.count} {name}s on each node (see line {tasks.line})"
            yield finding_at(launcher.word, text, cure)
        elif not ranks and _has_same_variable(script, launcher, before):
            text = f"srun starts as many {name}s on each node as each of them starts ranks"
            yield finding_at(launcher.word, text, cure)


_TESTS_OWN_NUMBER = re.compile(
    r"(?m)^.*(?:\bif\b|\[|\bcase\b|&&).*(?:PROCID|LOCALID|NODEID|RANK|HOSTNAME|hostname|NODENAME)"
)


def _tasks_per_node(script: Script, words: Sequence[Word]) -> Gpus | None:
    """The tasks of a step on each node, if they are several; `words` are those of its srun."""
    own = [starter_option(words, *names) for names in _STEP_SIZES]
    per_node, total, nodes = (whole_number(each.text) if each else None for each in own)
    place: Word | Directive | None = own[0] or own[1]
    if not any(own):
        per_node, total = script.number("ntasks-per-node"), script.number("ntasks")
        place = script.directive("ntasks-per-node") or script.directive("ntasks")
    if not own[2]:
        nodes = script.nodes
    count = per_node or 1
    if total and nodes:  # then --ntasks-per-node is only the maximum
        count = min(per_node or total, ceil(total / nodes))
    return Gpus(count, place.line, place.column) if place and count > 1 else None


def _has_same_variable(script: Script, launcher: Launcher, words: Sequence[Word]) -> bool:
    """Whether one variable is both the tasks of a node and the ranks of each task."""
    own, total = (starter_option(words, *names) for names in _STEP_SIZES[:2])
    directive = script.directive("ntasks-per-node")
    tasks = own.text if own else directive.value if directive else ""
    names = {re.sub(r"\W", "", each) for each in (tasks, launcher.value("nproc-per-node", "nproc"))}
    return tasks[:1] == "$" and len(names) == 1 and not total and not script.directive("ntasks")


_STEP_SIZES = (("--ntasks-per-node", "--tasks-per-node"), ("-n", "--ntasks"), ("-N", "--nodes"))


_RANKS = {"nproc-per-node", "nproc", "ranks"}


def jg114_fewer_ranks_than_gpus(script: Script) -> Findings:
    gpus, found = script.gpus_per_node, launchers(script)
    if not gpus or len(found) != 1 or "CUDA_VISIBLE" in script.text:
        return
    # The other GPUs may be for other commands, or for other rounds of a loop. A command
    # inside a quoted script (srun bash -c '…') has that string's depth; the srun around it has 0.
    at_depth = Counter(command.depth for command in work_commands(script))
    ranks, command = found[0].ranks_per_node, found[0].command
    if max(at_depth.values()) > 1 or command.enclosing - {"pipeline"} or command.depth > 1:
        return
    is_default = found[0].name == "torchrun" and found[0].has_all_options and not ranks
    is_default &= not found[0].options.keys() & _RANKS and "NPROC" not in script.text
    cure = "start a rank for each GPU, or request fewer GPUs"
    if ranks and ranks.count < gpus.count:
        text = f"{ranks.count} ranks per node, but line {gpus.line} requests {gpus.count} GPUs"
        yield finding_at(ranks.word, text, cure)
    elif is_default and gpus.count > 1:
        text = f"without --nproc-per-node, it starts one rank per node, but line {gpus.line}"
        yield finding_at(found[0].word, f"{text} requests {gpus.count} GPUs", cure)


# Off by default: in other versions of Slurm, srun does not ignore the option.
@optional
def jg302_cores_not_inherited(script: Script) -> Findings:
    directive = script.directive("cpus-per-task")
    has_several = (script.number("cpus-per-task") or 1) > 1
    if not directive or not has_several or "SRUN_CPUS_PER_TASK" in script.text:
        return
    for command in work_commands(script):
        if command.name == "srun" and not starter_option(command.words, "-c", "--cpus-per-task"):
            text = f"in Slurm 22.05 and 23.02, srun ignores line {directive.line}"
            cure = "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK"
            yield finding_at(command, f"{text}: one core per task", cure)


def jg303_more_tasks_than_gpus(script: Script) -> Findings:
    tasks, gpus = script.directive("ntasks-per-node"), script.gpus_per_node
    ranks = script.number("ntasks-per-node")
    has_rank_per_task = "MASTER_ADDR" in script.exports and not launchers(script)
    if not (tasks and gpus and ranks and has_rank_per_task and ranks > gpus.count > 0):
        return
    for command in work_commands(script):
        if command.name == "srun" and not starter_option(command.words, *STEP_COUNTS):
            text = f"{ranks} ranks per node, but line {gpus.line} requests {gpus.count} GPUs"
            yield finding_at(tasks, text, "start one task for each GPU")
            return


# Off by default: some programs need one GPU per task.
@optional
def jg306_gpu_per_task(script: Script) -> Findings:
    per_task = script.directive("gpus-per-task")
    if not per_task or per_task.value.rpartition(":")[2] != "1" or launchers(script):
        return
    counts = script.number("ntasks"), script.number("ntasks-per-node")
    has_several = any(count and count > 1 for count in counts)
    runs = [each for each in work_commands(script) if starter_of(each) == "srun"]
    if has_several and runs and "--gpu-bind" not in script.text:
        text = "each task sees one GPU, as number 0: a program that takes its local rank's fails"
        yield finding_at(per_task, text, "use --gpus-per-node, and as many tasks per node")


def jg406_too_many_threads(script: Script) -> Findings:
    for launcher in torchruns(script):
        cores = _cores(script, launcher)
        ranks = launcher.number("nproc-per-node", "nproc") or 1
        threads = _threads(script, launcher, cores)
        if ranks > 1 and threads * ranks > cores > 1:
            is_default = "OMP_NUM_THREADS" not in script.text
            text = f"each of {ranks} ranks starts {threads} threads, and all have {cores} cores"
            text += ": PBS sets OMP_NUM_THREADS to ncpus" if is_default else ""
            cure = f"export OMP_NUM_THREADS={max(cores // ranks, 1)}"
            yield finding_at(launcher.word, text, cure)


def _cores(script: Script, launcher: Launcher) -> int:
    """The cores that the ranks of a launcher have; 0 if the directives do not say."""
    if script.scheduler == "slurm":
        tasks = script.number("ntasks-per-node") or script.number("ntasks") or 1
        return (script.number("cpus-per-task") or 0) * (1 if launcher.starter else tasks)
    chunks = script.chunk_requests[-1][1] if script.chunk_requests else []
    if any("ompthreads" in resources for _, resources in chunks):
        return 0
    return max((whole_number(each.get("ncpus", "")) or 1 for _, each in chunks), default=0)


_CORES = re.compile(r"\$(?:SLURM_CPUS_PER_TASK\b|\{SLURM_CPUS_PER_TASK(?::?-\d+)?\})")


def _threads(script: Script, launcher: Launcher, cores: int) -> int:
    """The value of OMP_NUM_THREADS for the ranks of a launcher; 0 if it is not known."""
    if "OMP_NUM_THREADS" not in script.text:  # PBS sets it, and torchrun keeps what is set
        return cores if script.scheduler == "pbs" and not launcher.starter else 0
    held = script.flow.in_program("OMP_NUM_THREADS", launcher.command)
    if not held.is_set or len(held.assignments) > 1:
        return 0
    value = script.flow.resolved(held.assignments[0].value.text, held.assignments[0].place)
    of_task = script.number("cpus-per-task") or cores
    return of_task if _CORES.fullmatch(value) else whole_number(value) or 0


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
_OUTER_NUMBER = re.compile(rf"{OUTER}(SLURM_(?:NODEID|PROCID))\b")


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
            backend = launcher.option_name("rdzv-backend")
            cure = f"use srun bash -c '{name} … {option}=$SLURM_NODEID …', or {backend}=c10d"
            if launcher.command.depth:
                cure = f"add {option}=$SLURM_NODEID, in double quotes \\$SLURM_NODEID"
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
    # In a string for the shell on each node, OUTER stands for what the batch script expands.
    number = _OUTER_NUMBER if launcher.command.depth else _NUMBER
    found = number.search(script.resolved(word.text, launcher.command))
    text = "every node gets the rank 0: ${} is expanded before srun starts it"
    return text.format(found[1]) if found else ""


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
