"""Every rank gets the number of the batch script's own task."""

import re

from jobgen.lint.launchers import launchers, runs_on_all_nodes, work_commands
from jobgen.lint.reader.commands import starter_of
from jobgen.lint.rules import Findings, Script, finding_at

_NUMBER = re.compile(r"\$\{?(SLURM_(?:PROCID|LOCALID|NODEID))(?::?-0)?\}?")
_TASKS = ("nodes", "ntasks", "ntasks-per-node")


def check(script: Script) -> Findings:
    has_several_tasks = any((script.number(option) or 1) > 1 for option in _TASKS)
    if script.scheduler != "slurm" or script.runs_itself or not has_several_tasks:
        return
    runs = [
        command.offset
        for command in work_commands(script)
        if starter_of(command) == "srun" and runs_on_all_nodes(script, command)
    ]
    # A launcher gives the ranks their own numbers.
    for name in ("RANK", "LOCAL_RANK") if runs and not launchers(script) else ():
        for assignment in script.assignments_of(name)[-1:]:
            number = _NUMBER.fullmatch(assignment.value.text)
            is_exported = assignment.is_for_command or name in script.exports
            is_before_run = assignment.depth == 0 and assignment.offset <= max(runs)
            if number and is_exported and is_before_run:
                text = f"{name} is 0 for every task: ${number[1]} is 0 in the batch script"
                cure = f"set it in each task: srun bash -c '{name}=${number[1]} …'"
                yield finding_at(assignment, text, cure)
