"""The job itself makes the folder of its output."""

import re
from itertools import takewhile

from jobgen.lint.rules import Command, Findings, Script, finding_at

_BRANCHES = frozenset(("if_statement", "case_statement", "function_definition"))
_OWN_NAME = re.compile(r"\$0\b|\$\{0\}|BASH_SOURCE")
_OTHER_BRANCHES = frozenset(("else_clause", "elif_clause"))


def check(script: Script) -> Findings:
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
