"""A command after the run hides its exit status.

A script ends with the status of its last command. If that is an `echo`, a `deactivate` or an
`exit 0` after the run, a failed job counts as COMPLETED, jobs with `afterok` start, and nobody gets
a message.

Evidence: bash(1), EXIT STATUS; sbatch(1): the job's exit code is the script's.

Cure: `set -e` at the top, or `status=$?` after the run and `exit $status` at the end.

Example:
  #SBATCH --nodes=1
+ set -e
  source env/bin/activate
  srun python train.py
  deactivate
"""

import re

from jobgen.lint.launchers import work_commands
from jobgen.lint.rules import Command, Findings, Script, finding_at

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
    last = max(script.own_commands, key=lambda command: command.offset, default=None)
    run = _only_run(script)
    if not run or not last or last.enclosing or last.offset < run.offset:
        return
    exits = [command for command in script.commands if command.name == "exit"]
    is_exit_0 = exits == [last] and last.arguments == ["0"]
    hides_status = is_exit_0 or (not exits and last.name in _SMALL_COMMANDS)
    if hides_status and not script.has_set("errexit", run):
        name = "exit 0" if is_exit_0 else last.name
        text = f"the job counts as done even if this fails: the status is that of `{name}`"
        cure = "remove it" if is_exit_0 else f"keep $? and exit with it after line {last.line}"
        yield finding_at(run, text, f"set -e, or {cure}")


def _only_run(script: Script) -> Command | None:
    """The only command that does the job's work, if it is in no branch and in no pipe."""
    commands = [
        command
        for command in work_commands(script)
        if command.depth == 0 and "background" not in command.enclosing
    ]
    if len(commands) != 1 or commands[0].enclosing - {"pipeline"} or commands[0].piped_into:
        return None
    return commands[0]
