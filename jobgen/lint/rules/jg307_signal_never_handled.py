"""The signal before the end of the time never gets to the trap."""

from jobgen.lint.launchers import work_commands
from jobgen.lint.rules import Command, Findings, Script, finding_at

_NUMBERS = {"1": "HUP", "2": "INT", "10": "USR1", "12": "USR2", "15": "TERM"}
_ELSEWHERE = {"background", "function_definition"}


def check(script: Script) -> Findings:
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
    """The name of a signal, as USR1, for any of its forms."""
    name = signal.upper().removeprefix("SIG")
    return _NUMBERS.get(name, name)


def _trap(script: Script, name: str) -> Command | None:
    """The trap of the batch script for a signal, if it does something."""
    for command in script.own_commands:
        action, *signals = [word for word in command.arguments if word != "--"] or [""]
        if command.name == "trap" and action not in ("", "-") and name in map(_name, signals):
            return command
    return None
