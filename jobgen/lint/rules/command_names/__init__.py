"""Rules about the names of commands, which bash looks for only when it runs them."""

import re

from jobgen.lint.rules import Findings, Script, finding_at

_COMMANDS = frozenset(
    """
    if for while case source export module echo unset mkdir conda srun sleep exit python torchrun
    mpirun mpiexec accelerate deepspeed apptainer singularity deactivate activate printf
    """.split()
)


def jg611_misspelt_command(script: Script) -> Findings:
    for command in script.own_commands if script.active_directives else ():
        name = command.words[0].text if command.words else ""
        meant = name.lower() if name.lower() != name else _with_letters_in_order(name)
        if meant not in _COMMANDS or command.words[0].variables:
            continue
        if name not in script.functions and "alias" not in script.text:
            text = f"bash does not find `{name}`, and goes on with the next command"
            cure = f"write {meant}" if len(command.words) < 3 else f"write {meant}, or # before it"
            yield finding_at(command, text, cure)


def _with_letters_in_order(name: str) -> str:
    """The known command that a name is with two letters exchanged; "" if it is none."""
    for index in range(len(name) - 1 if 3 < len(name) < 12 and name not in _COMMANDS else 0):
        mended = name[:index] + name[index + 1] + name[index] + name[index + 2 :]
        if mended in _COMMANDS:
            return mended
    return ""


_FILE_AS_MODULE = re.compile(
    r"(?:^|\s)(?:\S*/)?(?:python[\d.]*|torchrun|accelerate launch)"
    r"(?: --?(?!m )[A-Za-z]\S*)* -m ([\w.]+)\.py(?: |$)"
)


def jg612_file_as_module(script: Script) -> Findings:
    for command in script.commands:
        if found := _FILE_AS_MODULE.search(command.text):
            text = f"-m takes the name of a module: Python finds none with the name {found[1]}.py"
            yield finding_at(command, text, f"write -m {found[1]}, or the file without -m")
