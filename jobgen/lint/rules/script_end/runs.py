"""The commands whose failure is the failure of the job."""

import re

from jobgen.lint.launchers import work_commands
from jobgen.lint.reader.commands import base_name
from jobgen.lint.reader.directives import program_of
from jobgen.lint.rules import Command, Script

_PYTHON = re.compile(
    r"(?:[\w./-]*/)?python[\d.]*\s(?:[^|]*\.py\b|(?:-\S+\s)*-m (?!pip|venv|site|ensurepip))"
)
# Programs that prepare a job or show something, whose failure may not matter.
_PREPARE = frozenset(
    """
    hostname echo date nvidia-smi rocm-smi rm mkdir cp rsync tar ls cat ray pkill kill sleep true
    env printenv lscpu scontrol enroot podman docker df free dcgmi chmod
    """.split()
)
_NO_RUNS = frozenset("echo printf which command pip pgrep pkill export grep ssh [ test".split())


def runs_of(script: Script) -> list[Command]:
    """The script's own commands that do the job's work, in the order of the text."""
    work = {id(command) for command in work_commands(script)}
    remote = {each.starter for each in work_commands(script) if each.depth}
    return [
        command
        for command in script.own_commands
        if not command.enclosing & {"command_substitution", "function_definition"}
        and (id(command) in work or command.name in remote or _is_run(script, command))
    ]


def inner_runs(script: Script) -> dict[Command, list[Command]]:
    """The runs in strings for another shell, each with all commands of its string."""
    return {
        run: [each for each in script.commands if each.path == run.path]
        for run in work_commands(script)
        if run.depth and not run.enclosing
    }


def _is_run(script: Script, command: Command) -> bool:
    name, arguments, text = command.name, command.arguments, command.text
    if name.startswith("$"):
        words = [word.text for word in script.expanded_words(command)] or [""]
        name, arguments, text = base_name(words[0]), words[1:], " ".join(words)
    if name in ("srun", "mpiexec", "mpirun"):
        program = program_of(command) if name == command.name == "srun" else None
        return not program or base_name(program.text) not in _PREPARE
    if name in ("ssh", "pbs_tmrsh"):
        return "background" in command.enclosing and len(arguments) > 1
    if name in ("singularity", "apptainer"):
        return arguments[:1] in (["exec"], ["run"])
    return name not in _NO_RUNS and bool(_PYTHON.match(text))
