"""Rules about the nodes of a job: nodes that do nothing, and nodes that a launcher waits for."""

import re
from itertools import pairwise

from jobgen.lint.launchers import (
    ENDPOINTS,
    STEP_COUNTS,
    Launcher,
    launchers,
    outer_command,
    runs_on_all_nodes,
    starter_option,
    starts_elsewhere,
    work_commands,
)
from jobgen.lint.reader.commands import SHELLS, starter_of
from jobgen.lint.reader.directives import program_of
from jobgen.lint.rules import Command, Finding, Findings, Script, finding_at

_CURES = {
    "slurm": "start it on each node: `srun --ntasks-per-node=1 {} …`",
    "pbs": "start it on each host of $PBS_NODEFILE, with pbs_tmrsh or mpiexec --ppn 1",
    "": "start it on every node",
}


def jg101_first_node_only(script: Script) -> Findings:
    nodes, found = script.nodes or 1, launchers(script)
    starts_others = any(
        launcher.starter and "background" in outer_command(script, launcher.command).enclosing
        for launcher in found
    )
    if nodes < 2 or script.functions or script.runs_itself or starts_others:
        return
    for launcher in found:
        is_elsewhere = launcher.starter and not _has_one_task(script, launcher.command)
        if (name := launcher.name) == "deepspeed" or is_elsewhere:
            continue  # deepspeed itself starts ranks on the other nodes
        has_no_nodes = launcher.has_all_options and "config-file" not in launcher.options
        if launcher.is_multi_node and launcher.command.piped_into != "?":
            text = f"{name} for {nodes} nodes runs on the first node only"
            text += ": the other agents never join"
        elif has_no_nodes and not launcher.is_multi_node and not starts_elsewhere(script):
            text = f"{name} uses the first of the {nodes} nodes: the others do nothing"
        else:
            continue
        yield finding_at(launcher.word, text, _CURES[script.scheduler].format(name))


def _has_one_task(script: Script, command: Command) -> bool:
    """Whether a command is the only task of an srun, on no node of its own and in no loop."""
    outer = outer_command(script, command)
    tasks = starter_option(outer.words, "-n", "--ntasks") if outer.name == "srun" else None
    has_own_node = starter_option(outer.words, "-w", "--nodelist", "-r", "--relative")
    return bool(tasks and tasks.text == "1") and not has_own_node and not outer.enclosing & _LOOPS


_OWN_NODES = ("-N", "--nodes", "-w", "--nodelist", "-n", "--ntasks")
_LOOPS = frozenset(("for_statement", "while_statement", "c_style_for_statement"))


def jg102_node_count_differs(script: Script) -> Findings:
    job_nodes, found = script.nodes, launchers(script)
    if job_nodes is None or script.runs_itself:
        return
    for launcher in found:
        nodes = launcher.number("nnodes") or 1
        if nodes in (1, job_nodes) or _may_be_right(script, launcher, nodes > job_nodes):
            continue
        if nodes > job_nodes or len(found) == 1:  # else the other launchers may use the other nodes
            text = f"{launcher.name} is for {nodes} nodes, but the job has {job_nodes}"
            cure = f"use the same number, or {launcher.option_name('nnodes')}=$SLURM_NNODES"
            yield finding_at(launcher.options["nnodes"], text, cure)


def _may_be_right(script: Script, launcher: Launcher, is_more: bool) -> bool:
    """Whether the launcher may be for a part of the nodes, or be started by hand on each node.

    If the node rank is an argument of the script, a separate job is submitted for each node.
    """
    rank = script.resolved(launcher.value("node-rank"), launcher.command)
    if launcher.number("node-rank") is not None or re.match(r"\$\{?\d", rank):
        return True
    outer = outer_command(script, launcher.command)
    if outer.enclosing & _LOOPS:  # each round may start one agent, on a node of this job
        return not (is_more and (script.nodes or 1) > 1)
    return bool(starter_option(outer.words, *_OWN_NODES))


_CHOOSES_HOSTS = {"hostfile", "no-ssh", "i", "include"}


def jg115_deepspeed_without_hostfile(script: Script) -> Findings:
    if script.functions or script.runs_itself or "/job/hostfile" in script.text:
        return
    for launcher in launchers(script):
        nodes = max(script.nodes or 1, launcher.number("nnodes") or 1)
        if launcher.name != "deepspeed" or launcher.starter or nodes == 1:
            continue
        if launcher.has_all_options and not launcher.options.keys() & _CHOOSES_HOSTS:
            text = f"deepspeed gets no list of the {nodes} nodes: it uses the first node only"
            yield finding_at(launcher.word, text, "write a hostfile, and give it with --hostfile")


# A command with the node's number gives each node other work; a file may have the number of nodes.
_OTHER_WORK = re.compile(r"SLURM_(NODEID|PROCID)|hostname|NODENAME")
_HAS_NODES = {"config-file", "hostfile", "no-ssh", "node-rank", "launcher"}


def jg119_world_per_node(script: Script) -> Findings:
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
            if "rdzv-endpoint" in launcher.options and "standalone" not in launcher.options:
                text = f"each of the {nodes} {launcher.name}s takes itself for the only node"
                text += ": at the endpoint that they share, one runs and the others wait"
            option = launcher.option_name("nnodes")
            cure = f"use {option}=$SLURM_NNODES, and a rendezvous that all nodes share"
            if launcher.name == "deepspeed":  # which itself starts the ranks of all nodes
                cure = "start it once, without srun, with --hostfile"
            yield finding_at(launcher.options.get("nnodes", launcher.word), text, cure)


_STARTS_ITSELF = re.compile(r"(?i)\bray\b|dask|submitit|mpi|PBS_NODEFILE|NODELIST|hostfile")


_CONTAINERS = ("singularity", "apptainer")


def jg125_other_nodes_idle(script: Script) -> Findings:
    nodes = script.nodes or 1
    step = _only_step(script)
    if nodes < 2 or launchers(script) or (starts_elsewhere(script) and not step):
        return
    in_containers = [each for each in script.own_commands if each.name in _CONTAINERS]
    runs = [each for each in work_commands(script) if each.name.startswith("python")]
    runs += [step] if step else []
    runs += [each for each in in_containers if each.arguments[:1] in (["run"], ["exec"])]
    code = re.sub(r"(?m)^\s*echo .*", "", script.code)
    if len(runs) == 1 and runs[0].depth == 0 and not _STARTS_ITSELF.search(code):
        text = f"{runs[0].name} runs on the first of the {nodes} nodes only"
        start = "start more than one task" if step else "start it with srun"
        yield finding_at(runs[0], text, f"{start}, or request one node")


def _only_step(script: Script) -> Command | None:
    """The srun of a script if it starts one Python, and if nothing else may use other nodes."""
    steps = [each for each in script.commands if starter_of(each)]
    others = [each for each in script.commands if each.depth or each.name in _SUBMITTERS]
    is_one = len(steps) == 1 and not (others or script.functions or script.runs_itself)
    is_python = is_one and any(word.text.endswith(".py") for word in steps[0].words)
    return steps[0] if is_python and _has_one_task(script, steps[0]) else None


_SUBMITTERS = frozenset(("sbatch", "qsub", "ray", *SHELLS))


_LIST = r"\$\{?SLURM_(?:JOB_)?NODELIST"
_SHORT_LIST = re.compile(
    rf"(?:{_LIST}(?:%%?,\*)?\}}?|\$\(echo \"?{_LIST}\}}?\"? \| ?(?:cut -d|head|awk -F)[^|]*\))"
    r"(?::\d+)?"
)
_ADDRESS = re.compile(
    r"(?i)(?:master|head|main|rdzv)(?:_?(?:process|node|host|addr|address|name|ip|endpoint))*"
)


def jg128_list_of_nodes(script: Script) -> Findings:
    cure = 'use $(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)'
    words = [
        each.options[name]
        for each in launchers(script)
        for name in ENDPOINTS
        if name in each.options
    ]
    words += [each.value for each in script.assignments if _ADDRESS.fullmatch(each.name)]
    for word in words if (script.nodes or 1) > 1 and not script.flow.sets("SLURM_NODELIST") else ():
        if _SHORT_LIST.fullmatch(word.text):
            yield finding_at(word, "the list of nodes is short, as in node[01-04]", cure)
    for assignment in script.assignments:
        name, items = assignment.name, assignment.items or ()
        if len(items) != 1 or not items[0].raw.startswith('"'):
            continue
        origin = script.flow.resolved(items[0].text, assignment.place, with_commands=True)
        if "show hostname" in origin and re.search(rf"\$\{{{name}\[[\w$]", script.text):
            text = f"{name} has one item, all hosts: quotes keep the list whole"
            yield finding_at(items[0], text, "remove the quotes")


# Builtins of the shell; a few systems have programs of the same names, which do nothing.
_BUILTINS = frozenset("cd source . export module ml ulimit set eval alias pushd unset".split())


def jg126_builtin_in_srun(script: Script) -> Findings:
    for command in script.commands:
        program = program_of(command) if command.name == "srun" else None
        if program and program.text in _BUILTINS:
            text = f"srun starts programs, and `{program.text}` is a builtin of the shell"
            cure = f"use srun bash -c '{program.text} … && …'"
            if program.text == "cd":
                cure += ", or srun --chdir=FOLDER …"
            yield finding_at(program, text, cure)


# Options with which a step leaves a part of the job to other steps.
_LEAVES_A_PART = (
    *STEP_COUNTS, "-w", "--nodelist", "-r", "--relative", "-c", "--cpus-per-task", "--mem", "-G",
    "--gpus", "--gres", "--gpus-per-task", "--gpus-per-node", "--het-group", "--jobid",
)  # fmt: skip
_SHARES = frozenset(("--overlap", "--exact", "--exclusive", "--pty"))


def jg127_step_waits_for_other(script: Script) -> Findings:
    if "OVERLAP" in script.text or "SLURM_EXACT" in script.text or script.scheduler != "slurm":
        return
    sruns = [each for each in script.own_commands if each.name == "srun"]
    waits = [each for each in script.commands if each.name == "wait"]
    for first, second in pairwise(sruns):
        kinds = {"background", "pipeline"}
        is_pair = first.enclosing == {"background"} and not second.enclosing - kinds
        has_wait = any(first.offset < each.offset < second.offset for each in waits)
        if is_pair and not has_wait and _holds_all(first) and not _shares(second):
            text = f"this waits until the srun of line {first.line} ends, which holds the whole job"
            cure = "give both --overlap, or to each a part: --exact with -N, -n, -c and --gpus"
            yield finding_at(second, text, cure)


def _shares(srun: Command) -> bool:
    return any(word.text in _SHARES or not word.is_literal for word in srun.words)


def _holds_all(srun: Command) -> bool:
    return not _shares(srun) and not starter_option(srun.words, *_LEAVES_A_PART)


_LOOP = re.compile(
    rf"\bfor\s+\w+\s+in\s+(?P<list>\"?{_LIST}\}}?\"?|\"\$\(scontrol show hostnames?\b[^)]*\)\")"
    r"\s*(?:;|$)"
)


def jg129_loop_over_list(script: Script) -> Findings:
    if (
        (script.nodes or 1) < 2
        or script.is_other_language
        or script.flow.sets("SLURM_JOB_NODELIST")
    ):
        return
    for number, line in enumerate(script.lines, 1):
        found = _LOOP.search(line) if number not in script.quoted_lines else None
        if found and not line.lstrip().startswith("#"):
            text = "the loop has one round: this list of nodes is one word"
            cure = "use $(scontrol show hostnames $SLURM_JOB_NODELIST), without quotes around it"
            yield Finding(number, found.start("list") + 1, text, cure, found["list"])


# With these, accelerate starts the ranks in another way, or a file may have the address.
_OTHER_START = re.compile("config-file|use-deepspeed|deepspeed|tpu|mpirun")


def jg130_accelerate_without_address(script: Script) -> Findings:
    for launcher in launchers(script):
        is_given = not launcher.has_all_options or "master-addr" in launcher.options
        is_other = any(map(_OTHER_START.match, launcher.options)) or "ACCELERATE_" in script.text
        has_several = (launcher.number("nnodes") or 1) > 1
        if launcher.name == "accelerate launch" and has_several and not is_given and not is_other:
            text = "without --main_process_ip, each node looks for the others at a host `None`"
            cure = "export HEAD=$(hostname) before it, and use --main_process_ip=$HEAD"
            yield finding_at(launcher.options["nnodes"], text, cure)
