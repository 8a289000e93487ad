"""A pipe hides the exit status of the run."""

from jobgen.lint.launchers import work_commands
from jobgen.lint.rules import Findings, Script, finding_at

# None of them matters after the run.
_SMALL_COMMANDS = {"tee", "echo", "date", "deactivate", "wait", "set"}


def check(script: Script) -> Findings:
    for command in work_commands(script) if "PIPESTATUS" not in script.text else ():
        is_nested = command.starter or command.depth or command.enclosing - {"pipeline"}
        if command.piped_into != "tee" or is_nested or script.has_set("pipefail", command):
            continue
        after = {each.name for each in script.own_commands if each.offset > command.offset}
        if not after - _SMALL_COMMANDS:
            text = f"the job counts as done even if {command.name} fails: the status is that of tee"
            yield finding_at(command, text, "set -o pipefail")
