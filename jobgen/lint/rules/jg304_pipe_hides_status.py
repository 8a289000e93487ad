"""A pipe hides the exit status of the run.

The status of a pipe is that of its last command: `srun … | tee log` ends with 0, however srun ends.
The job counts as COMPLETED, jobs with `afterok` start, and nobody gets a message.

Evidence: bash(1), Pipelines.

Cure: `set -o pipefail`.

Example:
  #SBATCH --nodes=1
+ set -o pipefail
  srun python train.py | tee train.log
"""

from jobgen.lint.launchers import work_commands
from jobgen.lint.rules import Command, Findings, Script, finding_at


def check(script: Script) -> Findings:
    if "PIPESTATUS" in script.text:
        return
    for command in work_commands(script):
        is_nested = command.starter or command.depth or command.enclosing - {"pipeline"}
        if command.piped_into != "tee" or is_nested or not _ends_script(script, command):
            continue
        if not script.has_set("pipefail", command):
            text = f"the job counts as done even if {command.name} fails: the status is that of tee"
            yield finding_at(command, text, "set -o pipefail")


def _ends_script(script: Script, run: Command) -> bool:
    """Whether no command that matters comes after it."""
    return all(
        command.name in ("tee", "echo", "date", "deactivate", "wait", "set")
        for command in script.own_commands
        if command.offset > run.offset
    )
