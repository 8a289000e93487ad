"""A command after the run hides its exit status."""

import re

from jobgen.lint.launchers import work_commands
from jobgen.lint.rules import Findings, Script, finding_at

# Commands whose status says nothing about the run.
_SMALL_COMMANDS = frozenset(
    """
    echo date deactivate printf conda rm module ml set unset cd popd sacct sstat seff squeue dcgmi
    nvidia-smi rocm-smi sleep
    """.split()
)


def check(script: Script) -> Findings:
    if re.search(r"\$\?|PIPESTATUS|\btrap\b|\|\|", script.text) or not script.active_directives:
        return
    own_runs = [each for each in work_commands(script) if each.depth == 0]
    runs = [each for each in own_runs if "background" not in each.enclosing]
    if len(runs) != 1 or runs[0].enclosing - {"pipeline"} or runs[0].piped_into:
        return
    run, last = runs[0], max(script.own_commands, key=lambda command: command.offset)
    exits = [command for command in script.commands if command.name == "exit"]
    is_exit_0 = exits == [last] and last.arguments == ["0"]
    hides_status = is_exit_0 or (not exits and last.name in _SMALL_COMMANDS)
    if hides_status and not last.enclosing and not script.has_set("errexit", run):
        name = "exit 0" if is_exit_0 else last.name
        text = f"the job counts as done even if this fails: the status is that of `{name}`"
        cure = "remove it" if is_exit_0 else f"keep $? and exit with it after line {last.line}"
        yield finding_at(run, text, f"set -e, or {cure}")
