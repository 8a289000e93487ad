"""Each task of several sees one GPU only."""

from jobgen.lint.launchers import launchers, work_commands
from jobgen.lint.reader.commands import starter_of
from jobgen.lint.rules import Findings, Script, finding_at

# Some programs need it.
OPTIONAL = True


def check(script: Script) -> Findings:
    per_task = script.directive("gpus-per-task")
    if not per_task or per_task.value.rpartition(":")[2] != "1" or launchers(script):
        return
    counts = script.number("ntasks"), script.number("ntasks-per-node")
    has_several = any(count and count > 1 for count in counts)
    runs = [each for each in work_commands(script) if starter_of(each) == "srun"]
    if has_several and runs and "--gpu-bind" not in script.text:
        text = "each task sees one GPU, as number 0: a program that takes its local rank's fails"
        yield finding_at(per_task, text, "use --gpus-per-node, and as many tasks per node")
