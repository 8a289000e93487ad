"""Rules about the end of a job: its exit status, its signals, and what it waits for."""

import re

from jobgen.lint.launchers import work_commands
from jobgen.lint.rules import Command, Findings, Script, finding_at

# Commands after a run whose exit status matters to nobody.
_UNIMPORTANT = {"tee", "echo", "date", "deactivate", "wait", "set"}


def jg304_pipe_hides_status(script: Script) -> Findings:
    for command in work_commands(script) if "PIPESTATUS" not in script.text else ():
        is_nested = command.starter or command.depth or command.enclosing - {"pipeline"}
        if command.piped_into != "tee" or is_nested or script.has_set("pipefail", command):
            continue
        after = {each.name for each in script.own_commands if each.offset > command.offset}
        if not after - _UNIMPORTANT:
            text = f"the job counts as done even if {command.name} fails: the status is that of tee"
            yield finding_at(command, text, "set -o pipefail")


# Commands whose status says nothing about the run.
_SMALL_COMMANDS = frozenset(
    """
    echo date deactivate printf conda rm module ml set unset cd popd sacct sstat seff squeue dcgmi
    nvidia-smi rocm-smi sleep
    """.split()
)


def jg305_last_command_hides_status(script: Script) -> Findings:
    if re.search(r"\$\?|PIPESTATUS|\btrap\b|\|\|", script.text) or not script.active_directives:
        return
    own_runs = [each for each in work_commands(script) if each.depth == 0]
    runs = [each for each in own_runs if "background" not in each.enclosing]
    if len(runs) != 1 or runs[0].enclosing - {"pipeline"} or runs[0].piped_into:
        return
    run, last = runs[0], max(script.own_commands, key=lambda command: command.offset)
    exits = [command for command in script.commands if command.name == "exit"]
    is_exit_0 = exits == [last] and last.arguments == ["0"]
    hides_status = is_exit_0 or (not exits and last.name in _SMALL_COMMANDS)
    if hides_status and not last.enclosing and not script.has_set("errexit", run):
        name = "exit 0" if is_exit_0 else last.name
        text = f"the job counts as done even if this fails: the status is that of `{name}`"
        cure = "remove it" if is_exit_0 else f"keep $? and exit with it after line {last.line}"
        yield finding_at(run, text, f"set -e, or {cure}")


_NUMBERS = {"1": "HUP", "2": "INT", "10": "USR1", "12": "USR2", "15": "TERM"}
_ELSEWHERE = {"background", "function_definition"}


def jg307_signal_never_handled(script: Script) -> Findings:
    directive = script.directive("signal")
    targets, _, signal = (directive.value if directive else "").partition("@")[0].rpartition(":")
    trap = _trap(script, _name(signal))
    if script.scheduler != "slurm" or not directive or not trap:
        return
    if "B" not in targets:
        text = f"only what srun starts gets {signal}: the trap on line {trap.line} never runs"
        yield finding_at(directive, text, f"use --signal=B:{directive.value}, and srun … & wait")
        return
    runs = [each for each in work_commands(script) if each.depth == 0]
    has_wait = any(command.name == "wait" for command in script.commands)
    is_foreground = len(runs) == 1 and not runs[0].enclosing & _ELSEWHERE
    if is_foreground and runs[0].offset > trap.offset and not has_wait:
        text = f"the trap on line {trap.line} runs only when this has ended"
        yield finding_at(runs[0], text, "start it in the background, and wait: srun … & wait")


def _name(signal: str) -> str:
    """The name of a signal, such as USR1, from its name with or without SIG, or its number."""
    name = signal.upper().removeprefix("SIG")
    return _NUMBERS.get(name, name)


def _trap(script: Script, name: str) -> Command | None:
    """The trap of the batch script for a signal, if it does something."""
    for command in script.own_commands:
        action, *signals = [word for word in command.arguments if word != "--"] or [""]
        if command.name == "trap" and action not in ("", "-") and name in map(_name, signals):
            return command
    return None


_STATUS_FILES = ("exit_code", "status", ".rc", "returncode", ".done")


def jg405_pbsdsh_status(script: Script) -> Findings:
    if script.scheduler != "pbs":  # pbsdsh is in a branch that another scheduler does not take
        return
    writes_status = any(name in script.text for name in _STATUS_FILES)
    for command in script.commands if not script.functions and not writes_status else ():
        if command.name == "pbsdsh":
            text = "pbsdsh ends with 0 whatever its tasks do: a failed job counts as done"
            yield finding_at(command, text, "use pbs_tmrsh, which ends with the task's status")


_NO_WAIT = ("echo", "date", "printf", "true", ":", "exit", "deactivate")
# Syntax that may not run: a command in it that seems to be the last may not be the last.
_UNCERTAIN = {"function_definition", "if_statement", "case_statement", "command_substitution"}


def jg607_ends_before_background(script: Script) -> Findings:
    own = script.own_commands
    if not script.active_directives or any(command.name in ("wait", "fg") for command in own):
        return
    others = [command for command in own if command.name not in _NO_WAIT]
    last = max(others, key=lambda command: command.offset, default=None)
    if last and "background" in last.enclosing and not last.enclosing & _UNCERTAIN:
        text = f"the script ends here, and the job with it: nothing waits for `{last.name}`"
        yield finding_at(last, text, "add `wait` at the end")
