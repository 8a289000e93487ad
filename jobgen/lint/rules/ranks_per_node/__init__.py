"""Rules about the ranks of a node: as many as its GPUs, with the cores that they need."""

from collections import Counter

from jobgen.lint.launchers import STEP_COUNTS, launchers, starter_option, torchruns, work_commands
from jobgen.lint.reader.commands import starter_of
from jobgen.lint.reader.directives import whole_number
from jobgen.lint.rules import Findings, Script, finding_at, optional


def jg103_more_ranks_than_gpus(script: Script) -> Findings:
    gpus = script.gpus_per_node
    if not gpus or gpus.count == 0 or script.directive("exclusive"):
        return
    for launcher in launchers(script):
        ranks = launcher.ranks_per_node
        if ranks and ranks.count > gpus.count:
            text = f"{ranks.count} ranks per node, but line {gpus.line} requests {gpus.count} GPUs"
            yield finding_at(ranks.word, text, "request as many GPUs, or start fewer ranks")


def jg105_several_agents_per_node(script: Script) -> Findings:
    per_node, tasks = script.directive("ntasks-per-node"), script.number("ntasks")
    count = script.number("ntasks-per-node") or 1
    if tasks and script.nodes:  # then --ntasks-per-node is only the most
        count = min(count, -(-tasks // script.nodes))
    if not per_node or count < 2:
        return
    for launcher in launchers(script):
        name, ranks = launcher.name, launcher.ranks_per_node
        is_started_by_srun = launcher.starter == "srun" and launcher.command.name == "srun"
        if not is_started_by_srun or name == "deepspeed" or (ranks and ranks.count <= 1):
            continue
        place = launcher.word.line, launcher.word.column
        before = [word for word in launcher.command.words if (word.line, word.column) < place]
        if not starter_option(before, *STEP_COUNTS, "--tasks-per-node"):
            text = f"srun starts {count} {name}s on each node (see line {per_node.line})"
            cure = f"use --ntasks-per-node=1: {name} itself starts the ranks"
            yield finding_at(launcher.word, text, cure)


def jg114_fewer_ranks_than_gpus(script: Script) -> Findings:
    gpus, found = script.gpus_per_node, launchers(script)
    if not gpus or len(found) != 1 or "CUDA_VISIBLE" in script.text:
        return
    # The other GPUs may be for other commands, or for other rounds of a loop. What a string starts
    # is counted at its depth: its srun is at depth 0.
    at_depth = Counter(command.depth for command in work_commands(script))
    ranks, command = found[0].ranks_per_node, found[0].command
    if max(at_depth.values()) > 1 or command.enclosing - {"pipeline"} or command.depth > 1:
        return
    if ranks and ranks.count < gpus.count:
        text = f"{ranks.count} ranks per node, but line {gpus.line} requests {gpus.count} GPUs"
        yield finding_at(ranks.word, text, "start a rank for each GPU, or request fewer GPUs")


# Other versions of Slurm do not need it.
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


# Some programs need it.
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
    if "OMP_NUM_THREADS" in script.text or not script.chunk_requests:
        return
    _, chunks = script.chunk_requests[-1]
    cores = max(whole_number(resources.get("ncpus", "")) or 1 for _, resources in chunks)
    if cores < 2 or any("ompthreads" in resources for _, resources in chunks):
        return
    for launcher in torchruns(script):
        ranks = launcher.number("nproc-per-node", "nproc") or 1
        if ranks > 1 and not launcher.starter:
            text = (
                f"each of {ranks} ranks starts {cores} threads: PBS sets OMP_NUM_THREADS to ncpus"
            )
            cure = f"export OMP_NUM_THREADS={max(cores // ranks, 1)}"
            yield finding_at(launcher.word, text, cure)
