"""A variable is used, and set only in a comment."""

import re

from jobgen.lint.launchers import launchers, work_commands
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    if not script.active_directives or _may_be_given(script):
        return
    assigned = {assignment.name for assignment in script.assignments}
    unset = _used_variables(script) - script.dynamic_variables - assigned - script.exports
    for comment in script.comments if unset else ():
        # With a blank after the #, or text after it, it is rather a note about who gives the value.
        found = re.fullmatch(r"#(?:export\s+)?([A-Za-z_]\w*)=[^\s$`<]+", comment.text)
        if not found or (name := found[1]) not in unset:
            continue
        others = "\n".join(each.text for each in script.comments if each is not comment)
        is_tested = re.search(rf"-[nvz]\s+\"?\$?\{{?{name}\b", script.text)
        if not is_tested and not re.search(rf"\b{name}\b", others):
            text = f"${name} is used, but set only in this comment"
            yield finding_at(comment, text, "remove the #")


def _may_be_given(script: Script) -> bool:
    """Whether a file that is sourced, or who submits the job, may set variables."""
    if any(command.name in ("source", ".", "eval") for command in script.commands):
        return True
    given = any(each.option in ("v", "V", "export") for each in script.active_directives)
    return given or any(re.search(r"sbatch|qsub|--export", each.text) for each in script.comments)


def _used_variables(script: Script) -> set[str]:
    """The variables without a default in the commands that do the job's work."""
    commands = {*work_commands(script), *(each.command for each in launchers(script))}
    return {
        name
        for command in commands
        for word in command.words
        for name in word.variables
        if re.search(rf"\$(?:{name}\b|\{{{name}\}})", word.text)
    }
