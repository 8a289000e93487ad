"""Rules about directives that contradict each other."""

import re
from collections.abc import Iterator

from jobgen.errors import JobgenError
from jobgen.lint.launchers import launchers
from jobgen.lint.options import known_options
from jobgen.lint.rules import Directive, Findings, Script, finding_at
from jobgen.planning.host_list import expand


def jg206_repeated_option(script: Script) -> Findings:
    if script.is_in_document:  # a document may list alternatives one below the other
        return
    seen: dict[tuple[str, str], tuple[int, str]] = {}
    for directive in script.active_directives:
        if directive.option == "hetjob":
            seen.clear()
        if directive.option in ("mail-type", "hint"):  # several values add up
            continue
        if directive.scheduler == "slurm" and not known_options("sbatch").find(directive.option):
            continue  # an option of a plug-in (SPANK), whose values may add up
        for name, value in _values(directive, bool(script.chunk_requests)):
            key = directive.scheduler, name
            line, earlier = seen.get(key, (0, value))
            if earlier != value:
                is_whole = name == directive.option or directive.scheduler == "slurm"
                option = directive.raw if is_whole else name
                text = f"`{option}` overrides line {line}"
                yield finding_at(directive, text, "keep one of the two")
            seen[key] = directive.line, value


def _values(directive: Directive, has_select: bool) -> Iterator[tuple[str, str]]:
    """The names and values that a directive sets; PBS's -l sets several."""
    letters = "NAqoejvmM" if has_select else "NAqoejmM"
    if directive.scheduler != "pbs" or directive.option in letters:
        yield directive.option, directive.value
    yield from (each for each in directive.resources if each[0] in ("walltime", "select", "place"))


def jg207_both_schedulers(script: Script) -> Findings:
    schedulers = {directive.scheduler for directive in script.active_directives}
    if len(schedulers) < 2 or script.directive("ignore-pbs"):
        return
    if script.is_in_document and not script.interpreter:
        return  # a document may show the lines of one scheduler beside those of the other
    for directive in script.active_directives:
        if directive.scheduler == "pbs" and directive.option != "S":
            text = "sbatch also reads #PBS lines, and they override the #SBATCH lines"
            cure = "keep the lines of one scheduler, or add --ignore-pbs"
            yield finding_at(directive, text, cure)
            return


_EXCLUSIVE_OPTIONS = {
    ("mem", "mem-per-cpu", "mem-per-gpu"): "sbatch refuses them",
    ("cpus-per-gpu", "cpus-per-task"): "sbatch refuses them",
    ("gpus-per-task", "ntasks-per-gpu"): "sbatch refuses them",
    ("gpus-per-socket", "ntasks-per-gpu"): "sbatch refuses them",
    ("ntasks-per-node", "ntasks-per-gpu"): "sbatch refuses them",
    ("exclusive", "oversubscribe"): "the last one counts",
    ("requeue", "no-requeue"): "the last one counts",
}
_Contradiction = tuple[Directive, Directive, str]  # two directives, and why they contradict


def jg211_contradictory_directives(script: Script) -> Findings:
    if script.scheduler != "slurm" or re.search("(?i)hetjob|packjob", script.text):
        return
    for search in (_exclusive_options, _tasks, _gpus, _hosts):
        for first, second, reason in search(script):
            pair = sorted((first, second), key=lambda each: (-each.line, -each.column))
            between = script.lines[pair[1].line : pair[0].line - 1]
            if script.is_in_document and "" in map(str.strip, between):
                continue  # a document may list alternatives in one block
            text, cure = f"{reason} (see line {pair[1].line})", "keep one of the two"
            if search is _tasks and (names := {each.name for each in launchers(script)}):
                cure = f"--ntasks-per-node=1 alone: {min(names)} starts the ranks of a node"
            yield finding_at(pair[0], text, cure)


def _exclusive_options(script: Script) -> Iterator[_Contradiction]:
    for options, effect in _EXCLUSIVE_OPTIONS.items():
        given = [each for option in options if (each := script.directive(option))]
        if len(given) > 1:
            names = " and ".join(f"--{directive.option}" for directive in given[:2])
            yield given[0], given[1], f"{names} exclude each other: {effect}"


def _tasks(script: Script) -> Iterator[_Contradiction]:
    """Contradictions between the numbers of nodes and tasks."""
    tasks, nodes = script.directive("ntasks"), script.directive("nodes")
    per_node, most = script.directive("ntasks-per-node"), script.number("ntasks-per-node")
    count, node_count = script.number("ntasks"), script.nodes
    if not (tasks and nodes and count and node_count):
        return
    if count < node_count:
        yield nodes, tasks, f"{count} tasks cannot use {node_count} nodes: the job gets {count}"
    if per_node and most and count < most:
        text = f"--ntasks={count} is below --ntasks-per-node={most}: the job gets {count}"
        yield tasks, per_node, text
    if per_node and most and count > most * node_count:
        text = f"{count} tasks are more than {most} on each of {node_count} nodes"
        yield tasks, per_node, f"{text}: sbatch refuses them"


def _gpus(script: Script) -> Iterator[_Contradiction]:
    """Contradictions between numbers of GPUs."""
    requests = map(script.directive, ("gres", "gpus-per-node", "gpus"))
    gres, per_node, gpus = (each if each and each.gpus else None for each in requests)
    if gres and per_node and gres.gpus != per_node.gpus:
        text = f"--gres requests {gres.gpus} GPUs per node, --gpus-per-node {per_node.gpus}"
        yield gres, per_node, text
    elif gres and per_node and dict(script.versions).get("slurm", "26.05") >= "26.05":
        yield gres, per_node, "--gres and --gpus-per-node: Slurm 26.05 refuses GPUs in both"
    node, nodes = gres or per_node, script.nodes
    if node and node.gpus and gpus and nodes and gpus.gpus != node.gpus * nodes:
        text = f"{gpus.gpus} GPUs in the job are not {node.gpus} on each of {nodes} nodes"
        yield node, gpus, f"{text}: sbatch refuses them"


def _hosts(script: Script) -> Iterator[_Contradiction]:
    """Contradictions of --nodelist with --exclude or --nodes."""
    nodelist, exclude = script.directive("nodelist"), script.directive("exclude")
    nodes = script.directive("nodes")
    if nodelist and exclude and (hosts := _expanded(nodelist) & _expanded(exclude)):
        text = f"{min(hosts)} is requested and excluded: sbatch refuses it"
        yield nodelist, exclude, text
    count = len(_expanded(nodelist)) if nodelist else 0
    if nodelist and nodes and count > (script.nodes or count):
        text = f"{count} hosts in --nodelist are more than --nodes: sbatch refuses them"
        yield nodelist, nodes, text


def _expanded(directive: Directive) -> set[str]:
    try:
        return set(expand([directive.value]))
    except JobgenError:  # not a list of hosts, or a list of too many hosts
        return set()
