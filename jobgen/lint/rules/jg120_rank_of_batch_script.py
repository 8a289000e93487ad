"""Every rank gets the number of the batch script's own task.

In the batch script, $SLURM_PROCID, $SLURM_LOCALID and $SLURM_NODEID are 0: the script runs once, on
the first node. `export RANK=$SLURM_PROCID` there, before srun, makes RANK 0 for every task. All
ranks take themselves for the first one: they cannot open the port, or they wait for the others.

Evidence: sbatch(1), OUTPUT ENVIRONMENT VARIABLES; tried with Slurm 22.05: SLURM_NODEID and
SLURM_PROCID are 0 in the batch script. Found in tutorials and scripts of public repositories;
Lightning-AI/pytorch-lightning#4389 has the hang of several ranks with one number.

Cure: let each task's shell set it: `srun bash -c 'RANK=$SLURM_PROCID python train.py'`.

Example:
  #SBATCH --nodes=2
  #SBATCH --ntasks-per-node=4
- export RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS
- srun python train.py
+ export WORLD_SIZE=$SLURM_NTASKS
+ srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID python train.py'
"""

import re

from jobgen.lint.launchers import launchers, runs_on_all_nodes, work_commands
from jobgen.lint.reader.commands import starter_of
from jobgen.lint.rules import Assignment, Findings, Script, finding_at

_NUMBER = re.compile(r"\$\{?(SLURM_(?:PROCID|LOCALID|NODEID))(?::?-0)?\}?")
_TASKS = ("nodes", "ntasks", "ntasks-per-node")


def check(script: Script) -> Findings:
    has_several_tasks = any((script.number(option) or 1) > 1 for option in _TASKS)
    if script.scheduler != "slurm" or script.runs_itself or not has_several_tasks:
        return
    for assignment in {each.name: each for each in script.assignments}.values():  # the last ones
        number = _NUMBER.fullmatch(assignment.value.text)
        if number and _is_for_tasks(script, assignment):
            text = f"{assignment.name} is 0 for every task: ${number[1]} is 0 in the batch script"
            cure = f"set it in each task: srun bash -c '{assignment.name}=${number[1]} …'"
            yield finding_at(assignment, text, cure)


def _is_for_tasks(script: Script, assignment: Assignment) -> bool:
    """Whether the batch script sets it, and a program that srun starts then reads it."""
    is_exported = assignment.is_for_command or assignment.name in script.exports
    if assignment.name not in ("RANK", "LOCAL_RANK") or assignment.depth or not is_exported:
        return False
    if launchers(script):
        return False  # they give the ranks their own numbers
    return any(
        starter_of(command) == "srun"
        and command.offset >= assignment.offset
        and runs_on_all_nodes(script, command)
        for command in work_commands(script)
    )
