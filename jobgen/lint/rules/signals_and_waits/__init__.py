"""Rules about a job's signals, and about what it waits for."""

import re

from jobgen.lint.launchers import SMALL_COMMANDS, work_commands
from jobgen.lint.reader.commands import base_name
from jobgen.lint.rules import Command, Findings, Script, finding_at

_NUMBERS = {"1": "HUP", "2": "INT", "10": "USR1", "12": "USR2", "15": "TERM"}
_ELSEWHERE = {"background", "function_definition"}


def jg307_signal_never_handled(script: Script) -> Findings:
    directive = script.directive("signal")
    targets, _, signal = (directive.value if directive else "").partition("@")[0].rpartition(":")
    if script.scheduler != "slurm" or not directive:
        return
    runs = [each for each in work_commands(script) if each.depth == 0]
    trap, is_for_batch = _trap(script, _name(signal)), "B" in targets
    if not trap:
        if is_for_batch and runs and not _MAY_HANDLE.search(script.code):
            text = f"without a trap, {signal} ends the script, and with it the job"
            yield finding_at(directive, text, f"add a trap: trap '…' {_name(signal)}")
        elif not is_for_batch and runs and not _MAY_START_STEPS.search(script.code):
            text = f"only what srun starts gets {signal}, and the script starts no srun"
            yield finding_at(directive, text, "start the program with srun")
        return
    if not is_for_batch:
        text = f"only what srun starts gets {signal}: the trap on line {trap.line} never runs"
        yield finding_at(directive, text, f"use --signal=B:{directive.value}, and srun … & wait $!")
        return
    has_wait = any(command.name == "wait" for command in script.commands)
    is_foreground = len(runs) == 1 and not runs[0].enclosing & _ELSEWHERE
    if is_foreground and runs[0].offset > trap.offset and not has_wait:
        text = f"the trap on line {trap.line} runs only when this has ended"
        yield finding_at(runs[0], text, "start it in the background, and wait: srun … & wait $!")


# What may set a trap, or get the signal instead of the batch script; and what may start a step.
_MAY_HANDLE = re.compile(r"\btrap\b|\bexec\b|\$0\b|BASH_SOURCE")
_MAY_START_STEPS = re.compile(r"\b(?:srun|mpi\w+|prun|submitit|ray)\b|\.sh\b|\bbash\s|\$0\b")


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
    small = SMALL_COMMANDS - {"wait", "kill"}
    own = [each for each in script.own_commands if each.name not in small]
    own = [each for each in own if "command_substitution" not in each.enclosing]
    last = own[-1] if own else None
    if not last or last.name != "wait" or last.arguments or last.enclosing:
        return
    ends = any("stop" in each.arguments or each.name in ("kill", "scancel") for each in own)
    for command in own if not ends else ():
        words = {base_name(word.text) for word in command.words}
        if "background" in command.enclosing and {"ray", "start", "--block"} <= words:
            text = f"this never ends: the ray of line {command.line} runs until it is stopped"
            yield finding_at(last, text, "wait for the program, wait $!, and then `ray stop`")
            return
