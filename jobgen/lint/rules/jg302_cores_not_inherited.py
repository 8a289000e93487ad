"""srun does not use the job's --cpus-per-task."""

from jobgen.lint.launchers import starter_option, work_commands
from jobgen.lint.rules import Findings, Script, finding_at

# Other versions of Slurm do not need it.
OPTIONAL = True


def check(script: Script) -> Findings:
    directive = script.directive("cpus-per-task")
    has_several = (script.number("cpus-per-task") or 1) > 1
    if not directive or not has_several or "SRUN_CPUS_PER_TASK" in script.text:
        return
    for command in work_commands(script):
        if command.name == "srun" and not starter_option(command.words, "-c", "--cpus-per-task"):
            text = f"in Slurm 22.05 and 23.02, srun ignores line {directive.line}"
            cure = "export SRUN_CPUS_PER_TASK=$SLURM_CPUS_PER_TASK"
            yield finding_at(command, f"{text}: one core per task", cure)
