"""Rules about the end of a job: its exit status, its signals, and what it waits for."""

import re
from collections.abc import Sequence

from jobgen.lint.launchers import work_commands
from jobgen.lint.reader.commands import base_name, starter_of
from jobgen.lint.rules import Command, Findings, Script, finding_at

# Commands after a run whose exit status matters to nobody.
_UNIMPORTANT = {"tee", "echo", "date", "deactivate", "wait", "set"}
_PASS_TEXT_ON = ("tee", "tail", "head", "cat", "ts")
_IN_PIPE = {"pipeline", "list", "tested"}


def jg304_pipe_hides_status(script: Script) -> Findings:
    runs = work_commands(script)
    for command in script.own_commands if "PIPESTATUS" not in script.text else ():
        last = command.piped_into
        is_nested = starter_of(command) == "ssh" or command.enclosing - _IN_PIPE
        if last not in _PASS_TEXT_ON or is_nested or script.has_set("pipefail", command):
            continue
        if "tested" in command.enclosing:
            if command.name not in _PRINT_ONLY:
                text = f"what tests this gets the status of {last}, even if {command.name} fails"
                yield finding_at(command, text, "set -o pipefail")
            continue
        after = {each.name for each in script.own_commands if each.offset > command.offset}
        is_hidden = last == "tee" and (
            not after - _UNIMPORTANT or script.has_set("errexit", command)
        )
        if command in runs and is_hidden:
            text = f"the job counts as done even if {command.name} fails: the status is that of tee"
            yield finding_at(command, text, "set -o pipefail")


# Commands whose status says nothing about the run.
_PRINT_ONLY = ("echo", "printf", "cat", "ls", "grep", "sort", "find", "squeue", "sacct", "date")
_SMALL_COMMANDS = frozenset(
    """
    echo date deactivate printf conda rm module ml set unset cd popd sacct sstat seff squeue dcgmi
    nvidia-smi rocm-smi sleep
    """.split()
)


def jg305_last_command_hides_status(script: Script) -> Findings:
    runs = [each for each in work_commands(script) if each.depth == 0]
    in_front = [each for each in runs if "background" not in each.enclosing]
    if not runs or not script.active_directives or _status_is_looked_at(script, runs[0]):
        return
    if not in_front:
        yield from _hidden_by_wait(script, runs)
    if len(in_front) != 1 or in_front[0].enclosing - {"pipeline"} or in_front[0].piped_into:
        return
    run, last = in_front[0], _last(script.own_commands)
    exits = [each for each in script.commands if each.name == "exit" and each.offset > run.offset]
    is_exit_0 = exits == [last] and last.arguments == ["0"]
    hides_status = is_exit_0 or (not exits and last.name in _SMALL_COMMANDS)
    if hides_status and not last.enclosing and not script.has_set("errexit", run):
        name = "exit 0" if is_exit_0 else last.name
        text = f"the job counts as done even if this fails: the status is that of `{name}`"
        cure = "remove it" if is_exit_0 else f"keep $? and exit with it after line {last.line}"
        yield finding_at(run, text, f"set -e, or {cure}")


def _last(commands: Sequence[Command]) -> Command:
    """The last command, without those that only give another command its words."""
    own = [each for each in commands if "command_substitution" not in each.enclosing]
    return max(own or commands, key=lambda command: command.offset)


def _hidden_by_wait(script: Script, runs: Sequence[Command]) -> Findings:
    """A finding on `wait` without a process, which ends with 0, as the last thing that is done."""
    last = _last([each for each in script.own_commands if each.name not in _SMALL_COMMANDS])
    if last.name == "wait" and not last.arguments and not last.enclosing and runs:
        text = f"the job counts as done even if {runs[0].name} fails: `wait` alone ends with 0"
        yield finding_at(last, text, "wait for each process: wait $!")


def _status_is_looked_at(script: Script, run: Command) -> bool:
    """Whether a trap, or a command after the run that prints no message, looks at a status."""
    traps = [each.arguments for each in script.commands if each.name == "trap"]
    if any({"ERR", "EXIT", "0"}.intersection(arguments[1:]) for arguments in traps):
        return True
    if any(
        definition.name == "exit" and "function_definition" in definition.enclosing
        for definition in script.own_commands
    ):
        return True
    messages = [each.text for each in script.commands if each.name in ("echo", "printf")]
    code = "\n".join(script.lines[run.line - 1 :])
    statuses = re.compile(r"\$\{?\?|PIPESTATUS")
    count = len(statuses.findall(code)) - sum(len(statuses.findall(text)) for text in messages)
    return count > 0


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
        yield finding_at(directive, text, f"use --signal=B:{directive.value}, and srun … & wait $!")
        return
    runs = [each for each in work_commands(script) if each.depth == 0]
    has_wait = any(command.name == "wait" for command in script.commands)
    is_foreground = len(runs) == 1 and not runs[0].enclosing & _ELSEWHERE
    if is_foreground and runs[0].offset > trap.offset and not has_wait:
        text = f"the trap on line {trap.line} runs only when this has ended"
        yield finding_at(runs[0], text, "start it in the background, and wait: srun … & wait $!")


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


def jg308_wait_for_server(script: Script) -> Findings:
    own = [each for each in script.own_commands if each.name not in _SMALL_COMMANDS]
    last = _last(own) if own else None
    if not last or last.name != "wait" or last.arguments or last.enclosing:
        return
    ends = any("stop" in each.arguments or each.name in ("kill", "scancel") for each in own)
    for command in own if not ends else ():
        words = {base_name(word.text) for word in command.words}
        if "background" in command.enclosing and {"ray", "start", "--block"} <= words:
            text = f"this never ends: the ray of line {command.line} runs until it is stopped"
            yield finding_at(last, text, "wait for the program, wait $!, and then `ray stop`")
            return
