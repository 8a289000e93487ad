"""Rules about cores that ranks must share although the node has more."""

import re
from itertools import takewhile

from jobgen.lint.launchers import Launcher, launchers, outer_command, starter_option, work_commands
from jobgen.lint.rules import Command, Findings, Script, finding_at

_CORES = ("-c", "--cpus-per-task")
_OF_CORES = ("cpus-per-task", "sockets-per-node", "cores-per-socket")
_PYTHON = re.compile(r".*\bpython[\d.]*$|.*\.py$")


def jg309_one_core(script: Script) -> Findings:
    for launcher in launchers(script):
        ranks = launcher.ranks_per_node
        if ranks and ranks.count > 1 and (why := _one_core(script, launcher)):
            text = f"{ranks.count} ranks share one core: {why}"
            yield finding_at(launcher.word, text, "ask for the cores of all ranks")
    for command in work_commands(script):
        bind = starter_option(command.words, "--cpu-bind") if command.name == "srun" else None
        if bind and re.search(r"\b(cores?|threads?)\b", bind.text) and _is_rank(script, command):
            text = f"--cpu-bind={bind.text} without --cpus-per-task gives each rank one core"
            yield finding_at(bind, text, "add -c N, the cores of a rank")


def _one_core(script: Script, launcher: Launcher) -> str:
    """Where a script says that the ranks of a launcher have one core; "" if it does not."""
    outer = outer_command(script, launcher.command)
    if outer.name == "srun" and (own := starter_option(outer.words, *_CORES)):
        return "srun's own --cpus-per-task is 1" if own.text == "1" else ""
    if script.asks_for_whole_nodes or _may_have_more(script):
        return ""
    cores, memory = script.directive("cpus-per-task"), script.directive("mem", "mem-per-gpu")
    tasks = script.number("ntasks-per-node") or script.number("ntasks")
    if cores and cores.value == "1" and (outer.name == "srun" or (tasks or 1) == 1):
        return f"see line {cores.line}"
    if not cores and memory and tasks == 1:  # who requests memory gets a part of a node
        return "no --cpus-per-task asks for more"
    for request, chunks in script.chunk_requests[-1:]:
        if all(each.get("ncpus") == "1" for _, each in chunks):
            return f"see line {request.line}"
    return ""


def _may_have_more(script: Script) -> bool:
    """Whether a script may get its cores in another way than by --cpus-per-task."""
    memory = script.directive("mem")
    gets_nodes = memory and memory.value == "0"  # which mostly is with whole nodes
    options = script.directive("cpus-per-gpu", "core-spec", "tres-per-task")
    return bool(gets_nodes or options or "SRUN_CPUS_PER_TASK" in script.text)


def _is_rank(script: Script, command: Command) -> bool:
    """Whether an srun starts ranks with GPUs, and nothing says how many cores they have."""
    if not (script.gpus_per_node or script.directive("gpus", "gpus-per-task")):
        return False
    if script.directive(*_OF_CORES) or _may_have_more(script):
        return False
    before = list(takewhile(lambda word: not _PYTHON.match(word.text), command.words))
    is_literal = all(word.is_literal for word in before)
    has_python = len(before) < len(command.words)
    names = (f"--{option}" for option in _OF_CORES)
    return has_python and is_literal and not starter_option(before, "-c", "--cpus-per-gpu", *names)
