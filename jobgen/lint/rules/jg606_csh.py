"""A command of csh is in a script for bash."""

import re

from jobgen.lint.rules import Command, Findings, Script, finding_at


def check(script: Script) -> Findings:
    shell = script.directive("S") if script.scheduler == "pbs" else None
    if (shell and "csh" in shell.value) or not script.interpreter:
        return
    for command in script.own_commands:
        cure = _cure(command)
        if cure and command.name not in script.functions:
            shown = " ".join(word.raw for word in command.words[:3])
            text = f"`{shown}` is of csh, and this script is for bash"
            yield finding_at(command, text, cure)


def _cure(command: Command) -> str:
    """What bash has for a command of csh; "" for any other command."""
    first, others = command.words[0].text if command.words else "", command.arguments
    if first == "setenv" and others and re.fullmatch(r"\w+", others[0]):
        return f"use export {others[0]}={' '.join(others[1:])}"
    if first == "unsetenv" and others:
        return f"use unset {others[0]}"
    if first == "set" and len(others) > 1 and re.fullmatch(r"[A-Za-z]\w*", others[0]):
        value = " ".join(others[1:]).removeprefix("=").strip()
        return f"use {others[0]}={value}" if others[1].startswith("=") else ""
    return "use for NAME in …; do …; done" if first == "foreach" else ""
