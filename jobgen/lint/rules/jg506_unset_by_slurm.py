"""A variable of Slurm is used without the option that sets it."""

import re

from jobgen.lint.rules import Findings, Script, Word, finding_at

_OPTIONS = {
    "SLURM_CPUS_PER_TASK": "cpus-per-task",
    "SLURM_GPUS": "gpus",
    "SLURM_GPUS_PER_NODE": "gpus-per-node",
    "SLURM_GPUS_PER_TASK": "gpus-per-task",
    "SLURM_NTASKS_PER_NODE": "ntasks-per-node",
}
# Options that set the variable in another way, or may do so.
_OTHER_WAYS = {"cpus-per-task": "|cpus-per-gpu|tres-per-task", "ntasks-per-node": "|tasks-per-node"}
_SIZES = "nodes ntasks ntasks-per-node cpus-per-task gres gpus gpus-per-node mem".split()


def check(script: Script) -> Findings:
    if script.scheduler != "slurm" or not script.directive(*_SIZES) or script.runs_itself:
        return
    for name, option in _OPTIONS.items():
        written = rf"--({option}{_OTHER_WAYS.get(option, '')})\b(?!-)"
        if script.directive(option) or re.search(written, script.text):
            continue
        if script.assignments_of(name) or name in script.dynamic_variables:
            continue
        if word := _first_use(script, name):
            text = f"${name} is empty: Slurm sets it only if --{option} is given"
            cure = f"add #SBATCH --{option}=…, or a default, ${{{name}:-…}}"
            yield finding_at(word, text, cure)


def _first_use(script: Script, name: str) -> Word | None:
    """Where a variable without a default is first used for more than a message."""
    words = [
        word
        for command in script.commands
        if not command.enclosing - {"pipeline"}
        and command.name not in ("echo", "printf", "test", "[")
        for word in command.words
    ]
    words += [assignment.value for assignment in script.assignments if assignment.is_certain]
    plain = re.compile(rf"\$({name}\b|\{{{name}\}})")
    used = [word for word in words if name in word.variables and plain.search(word.raw)]
    return min(used, key=lambda word: (word.line, word.column), default=None)
