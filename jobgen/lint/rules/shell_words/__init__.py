"""Rules about commands that bash reads otherwise than they look."""

import re

from jobgen.lint.reader.directives import is_code
from jobgen.lint.rules import Command, Findings, Script, finding_at

# Commands that take paths; the words of others may be patterns.
_TAKES_PATHS = ("source", ".", "cd", "python", "python3", "ls", "cp", "mv", "mkdir", "bash")


def jg601_backslash_path(script: Script) -> Findings:
    for command in script.commands:
        for word in command.words[1:] if command.name in _TAKES_PATHS else ():
            # `\_` ends the name of a variable, in $NAME\_x.
            if not word.variables and re.fullmatch(r"[\w.~-]+(\\[A-Za-z\d][\w.-]*)+", word.raw):
                text = f"bash reads `{word.raw}` as `{word.text}`"
                yield finding_at(word, text, "write / for \\")


def jg605_command_cut(script: Script) -> Findings:
    for command in script.commands if not script.parse_error else ():
        if command.name == "exit" and not command.depth and not command.enclosing:
            return  # what follows never runs
        if not re.match(r"--?[A-Za-z]", command.name) or command.words[0].variables:
            continue
        begin = script.lines[command.line - 1][: command.column - 1]
        if begin.strip() or command.line in script.quoted_lines:
            continue  # an option of a site's shell function, or a part of a template
        above = [line.strip() for line in script.lines[: command.line - 1] if line.strip()]
        if above[-1:] in (["..."], ["…"]):
            continue  # the beginning of the command is not shown
        if command.assignments:
            name = command.assignments[-1].name
            cause, cure = f"the value of {name} ends before the blank", "put the value in quotes"
        else:
            cause = _cause(script.lines, command.line)
            cure = "end each line of the command but the last with \\"
        yield finding_at(command, f"bash runs `{command.name}` as a command: {cause}", cure)


def _cause(lines: list[str], line: int) -> str:
    """Why the command before a line ends there."""
    number = line - 1
    while number > 1 and not is_code(lines[number - 1]):
        number -= 1
    if number < line - 1:
        return f"a comment or an empty line cuts the one of line {number}"
    if re.search(r"\\\s+$", lines[number - 1]):
        return f"blanks follow the \\ of line {number}"
    if re.search(r"\\\s+#", lines[number - 1]):
        return f"a comment follows the \\ of line {number}"
    return f"line {number} has no \\ at its end"


def jg606_csh(script: Script) -> Findings:
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
