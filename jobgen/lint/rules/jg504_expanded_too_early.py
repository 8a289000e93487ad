"""A variable is used in the command for which it is set."""

import re

from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    for command in script.commands if not script.parse_error else ():
        used = {name for word in command.words for name in word.variables}
        for assignment in command.assignments:
            name, value = assignment.name, assignment.value.text
            is_set_elsewhere = len(script.assignments_of(name)) > 1
            extends_itself = re.search(rf"\$\{{?{re.escape(name)}\b", value)
            if name in script.dynamic_variables or is_set_elsewhere or extends_itself:
                continue
            if name in used:
                text = f"${name} is expanded before it is set for this command"
                yield finding_at(assignment, text, f"export {name}={value} on a line before")
