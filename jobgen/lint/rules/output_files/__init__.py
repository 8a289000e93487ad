"""Rules about the files of a job's output, and their folders."""

import os
import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

from jobgen.lint.rules import Command, Findings, Script, finding_at, optional

_BRANCHES = frozenset(("if_statement", "case_statement", "function_definition"))
_OWN_NAME = re.compile(r"\$0\b|\$\{0\}|BASH_SOURCE")
_OTHER_BRANCHES = frozenset(("else_clause", "elif_clause"))


def jg210_output_folder_made_late(script: Script) -> Findings:
    directives = [each for name in ("output", "error") if (each := script.directive(name))]
    made_by = {
        word.text.removeprefix("./").rstrip("/"): command
        for command in script.commands
        if command.name == "mkdir" and not _submits_then(script, command)
        for word in script.expanded_words(command)[1:]
    }
    for directive in directives:
        folder = directive.value.rpartition("/")[0].removeprefix("./")
        if folder and (mkdir := made_by.pop(folder, None)):
            text = f"{folder} must exist before the job starts"
            text += f": the mkdir on line {mkdir.line} is too late"
            yield finding_at(directive, text, "make it before you submit")


def _submits_then(script: Script, mkdir: Command) -> bool:
    """Whether the same branch then submits a job, or the script then submits itself anywhere."""
    branch = mkdir.enclosing & _BRANCHES

    def is_in_branch(command: Command) -> bool:
        leaves = (command.enclosing - mkdir.enclosing) & _OTHER_BRANCHES
        return bool(branch) and command.enclosing >= branch and not leaves

    after = [command for command in script.commands if command.offset > mkdir.offset]
    return any(map(_submits, takewhile(is_in_branch, after))) or any(
        _submits(command) and any(_OWN_NAME.search(word.text) for word in command.words)
        for command in after
    )


def _submits(command: Command) -> bool:
    return any(word.text in ("sbatch", "qsub") for word in command.words[:2])


# Only where the job is submitted is it known which folders exist.
@optional
def jg212_output_folder_missing(script: Script) -> Findings:
    if script.file == "-" or script.directive("chdir"):
        return
    is_slurm = script.scheduler == "slurm"
    makers = [each for each in script.commands if each.name in ("mkdir", "install")]
    for directive in map(script.directive, ("output", "error") if is_slurm else ("o", "e")):
        folder = directive.value.rpartition("/")[0].removeprefix("./") if directive else ""
        if not directive or not folder or folder.startswith(("/", "~", "..")):
            continue
        if set(folder) & set("%$^:<{") or any(folder in maker.text for maker in makers):
            continue  # that the job makes it is right with PBS; with Slurm, JG210 reports it
        if not any(map(os.path.isdir, _paths(script.file, folder))):
            effect = "the job fails without a message" if is_slurm else "the output is lost"
            text = f"the output goes to {folder}, which does not exist: {effect}"
            yield finding_at(directive, text, "make it before you submit")


def _paths(file: str, folder: str) -> Iterator[str]:
    """Where the folder may be: in the folders from which a person may submit."""
    yield folder
    for above in Path(os.path.abspath(file)).parents:
        yield os.path.join(above, folder)
        if os.path.exists(above / ".git"):
            return


# What is another text for each task: its number, its job, or (mostly) its node.
_DIFFERS = re.compile(r"%\d*[ajJN]|\$|[{}<>]|^/dev/")


def jg219_array_with_one_output(script: Script) -> Findings:
    array, mode = script.directive("array"), script.directive("open-mode")
    has_several = array and re.search("[-,:]", array.value.split("%")[0])
    appends = mode and mode.value.startswith("a")
    if script.scheduler != "slurm" or not array or not has_several or appends:
        return
    for directive in map(script.directive, ("output", "error")):
        if directive and directive.value and not _DIFFERS.search(directive.value):
            text = f"all tasks of the array (see line {array.line}) overwrite {directive.value}"
            yield finding_at(directive, text, "add %a, the number of the task, to the name")
