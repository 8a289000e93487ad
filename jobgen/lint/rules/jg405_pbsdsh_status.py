"""pbsdsh does not report how its tasks end."""

from jobgen.lint.rules import Findings, Script, finding_at

_STATUS_FILES = ("exit_code", "status", ".rc", "returncode", ".done")


def check(script: Script) -> Findings:
    if script.scheduler != "pbs":  # pbsdsh is in a branch that another scheduler does not come to
        return
    writes_status = any(name in script.text for name in _STATUS_FILES)
    for command in script.commands if not script.functions and not writes_status else ():
        if command.name == "pbsdsh":
            text = "pbsdsh ends with 0 whatever its tasks do: a failed job counts as done"
            yield finding_at(command, text, "use pbs_tmrsh, which ends with the task's status")
