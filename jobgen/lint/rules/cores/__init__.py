"""Rules about cores that ranks must share although the node has more."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from jobgen.lint.launchers import Launcher, launchers, outer_command, starter_option, work_commands
from jobgen.lint.options import known_options
from jobgen.lint.reader.commands import OUTER, Word
from jobgen.lint.reader.directives import program_of
from jobgen.lint.rules import Command, Findings, Script, finding_at

_CORES = ("-c", "--cpus-per-task")
_OF_CORES = ("cpus-per-task", "sockets-per-node", "cores-per-socket")
_GPUS = ("--gpus-per-task", "--gpus-per-node", "--gres", "--gpus", "-G")
_PYTHON = re.compile(r".*\bpython[\d.]*$|.*\.py$")
_CURE = "ask for the cores of all ranks"
_AT_SITES = ", unless the partition gives whole nodes, or cores with each GPU"
# Arguments of a program, such as one with Lightning, that starts a rank for each GPU.
_DEVICES = re.compile(r"(?:--)?(?:trainer\.)?(?:gpus|devices|num[_-]gpus)=(\d+)")


def jg309_one_core(script: Script) -> Findings:
    for launcher in launchers(script):
        ranks = _ranks(script, launcher)
        if ranks > 1 and (why := _one_core(script, launcher)):
            text = f"{ranks} ranks share one core{why}"
            yield finding_at(launcher.word, text, _CURE)
    own = {id(launcher.command) for launcher in launchers(script)}
    for command in work_commands(script):
        count = 0 if id(command) in own or command.depth else _devices(command)
        is_one_task = count and _tasks_per_node(script) in (1, None)
        if is_one_task and (why := _one_core_of(script, command)):
            yield finding_at(command, f"the ranks of {count} GPUs share one core{why}", _CURE)
        bind = starter_option(command.words, "--cpu-bind") if command.name == "srun" else None
        if bind and re.search(r"\b(cores?|threads?)\b", bind.text) and _is_rank(script, command):
            text = f"--cpu-bind={bind.text} without --cpus-per-task gives each rank one core"
            yield finding_at(bind, text, "add -c N, the cores of a rank")


def _ranks(script: Script, launcher: Launcher) -> int:
    """The ranks of a launcher on a node; 0 if they are not known."""
    ranks, gpus = launcher.ranks_per_node, script.gpus_per_node
    if not ranks and launcher.value("nproc-per-node", "nproc") in ("gpu", "auto"):
        return (gpus.count if gpus else script.number("gpus-per-task")) or 0
    return ranks.count if ranks else 0


def _devices(command: Command) -> int:
    """How many GPUs the arguments of a program say that it uses, if it is more than one."""
    found = [_DEVICES.fullmatch(each) for each in command.arguments]
    count = next((int(each[1][:4]) for each in found if each), 0)
    return count if count > 1 else 0


def _one_core(script: Script, launcher: Launcher) -> str:
    """Where a script says that the ranks of a launcher have one core; "" if it does not."""
    outer = outer_command(script, launcher.command)
    words = _own_words(script, outer)
    if (why := _one_core_of(script, outer)) or words is None or starter_option(words, *_CORES):
        return why
    is_open = not script.asks_for_whole_nodes and not _may_have_more(script)
    if is_open and not script.directive(*_OF_CORES) and _tasks_per_node(script) == 1:
        is_part = _has_gpus(script, words) or script.directive("mem", "mem-per-gpu")
        gives_nodes = script.profile and script.profile.has_whole_nodes
        why = ": no --cpus-per-task asks for more"
        return _AT_SITES + why if is_part and not gives_nodes else ""
    return ""


def _one_core_of(script: Script, command: Command) -> str:
    """Where a script says that a task of a command has one core; "" if it does not."""
    words = _own_words(script, command)
    own = starter_option(words or (), *_CORES)
    if words is None or own:
        return ": srun's own --cpus-per-task is 1" if own and own.text == "1" else ""
    if script.asks_for_whole_nodes or _may_have_more(script):
        return ""
    cores, tasks = script.directive("cpus-per-task"), _tasks_per_node(script)
    if cores and cores.value == "1" and (command.name == "srun" or (tasks or 1) == 1):
        return f": see line {cores.line}"
    for request, chunks in script.chunk_requests[-1:]:
        if all(each.get("ncpus") == "1" for _, each in chunks):
            return f": see line {request.line}"
    return ""


def _own_words(script: Script, command: Command) -> list[Word] | None:
    """The words of an srun before its program; none for another command, None if not known."""
    if command.name != "srun":
        return []
    words = script.expanded_words(command)
    program = program_of(replace(command, words=tuple(words)))
    if program and not program.is_literal and re.match(rf"[$`{OUTER}]", program.text):
        return None  # it may be options
    return list(takewhile(lambda word: word is not program, words))


def _tasks_per_node(script: Script) -> int | None:
    """The tasks of a node that the directives ask for; None if they do not say."""
    per_node, tasks, nodes = script.number("ntasks-per-node"), script.number("ntasks"), script.nodes
    if per_node or not tasks:
        return per_node
    return tasks if not nodes or tasks % nodes else tasks // nodes


def _may_have_more(script: Script) -> bool:
    """Whether a script may get its cores in another way than by --cpus-per-task."""
    memory = script.directive("mem")
    gets_nodes = memory and memory.value == "0"  # which mostly is with whole nodes
    options = script.directive("cpus-per-gpu", "core-spec", "tres-per-task")
    return bool(gets_nodes or options or "SRUN_CPUS_PER_TASK" in script.text)


def _has_gpus(script: Script, words: Sequence[Word]) -> bool:
    """Whether the directives, or the words of an srun, ask for GPUs."""
    directive = script.gpus_per_node or script.directive("gpus", "gpus-per-task")
    return bool(directive or starter_option(words, *_GPUS))


def _is_rank(script: Script, command: Command) -> bool:
    """Whether an srun starts ranks with GPUs, and nothing says how many cores they have."""
    words = script.expanded_words(command)
    before = list(takewhile(lambda word: not _PYTHON.match(word.text), words))
    if script.directive(*_OF_CORES) or _may_have_more(script) or not _has_gpus(script, before):
        return False
    names = (f"--{option}" for option in _OF_CORES)
    has_cores = starter_option(before, "-c", "--cpus-per-gpu", *names)
    has_python = len(before) < len(words)
    return has_python and not has_cores and not any(_may_be_options(before))


def _may_be_options(words: Sequence[Word]) -> Iterator[bool]:
    """For each word of an srun, whether its value is not known and may be options."""
    options = known_options("srun")
    for before, word in pairwise(words):
        name = before.text.lstrip("-")
        find = options.find if before.text.startswith("--") else options.letters.get
        option = find(name) if before.text.startswith("-") and "=" not in name else None
        is_value = word.text.startswith("-") or (option and option.argument == "=")
        is_known = not word.has_substitution and not re.search(rf"[${OUTER}]", word.text)
        yield not is_known and not is_value
