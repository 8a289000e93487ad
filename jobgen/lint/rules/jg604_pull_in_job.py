"""The job itself fetches its code."""

from jobgen.lint.launchers import work_commands
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    if not script.active_directives or not work_commands(script):
        return
    for command in script.commands:
        if command.name == "git" and "pull" in command.arguments[:3]:
            text = "the job runs the code of the branch as it is when the job starts"
            yield finding_at(command, text, "fetch one commit before you submit")
