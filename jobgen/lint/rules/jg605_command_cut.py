"""A command is cut: its next line is a command of its own."""

import re

from jobgen.lint.reader.directives import is_code
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
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
