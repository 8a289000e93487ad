"""A file in /tmp is on the first node only, and all nodes use it."""

import re
from collections.abc import Iterator

from jobgen.lint.launchers import outer_command, runs_on_all_nodes, work_commands
from jobgen.lint.reader.commands import starter_of
from jobgen.lint.rules import Command, Findings, Script, finding_at

_MAKERS = {"mkdir", "cp", "rsync", "tar", "unzip", "mktemp", "wget", "sbcast"}
_LOCAL = re.compile(r"/(?:tmp|dev/shm)/[\w./$\{\}-]+")
_MAKES_NAME = re.compile(r"[$`]\(?\s*mktemp(?:\s+-[dqu]+)*(?:\s+/tmp/\S+)?\s*[)`]")
# Before its program, srun itself reads a file, on the first node.
_PROGRAM = re.compile(
    r"(^|/)(python[\d.]*|(ba)?sh|torchrun|accelerate|singularity|apptainer)$|\.py$"
)


def check(script: Script) -> Findings:
    if (script.nodes or 1) < 2 or script.runs_itself:
        return
    runs = [each for each in work_commands(script) if runs_on_all_nodes(script, each)]
    for name, line in _local_names(script) if runs else ():
        for run in runs:
            if run.line > line and name in _arguments(script, run):
                text = f"{name} (see line {line}) is on the first node only"
                yield finding_at(run, text, "make it on each node: srun --ntasks-per-node=1 …")
                break


def _local_names(script: Script) -> Iterator[tuple[str, int]]:
    """The local files and folders that only the batch script makes, each with its line."""
    for assignment in script.assignments:
        is_own = assignment.depth == 0 and assignment.is_certain
        if is_own and _MAKES_NAME.fullmatch(assignment.value.text):
            yield f"${assignment.name}", assignment.line
    made: dict[str, int] = {}
    made_everywhere = ""
    for command in script.commands:
        texts = [script.resolved(word.text) for word in command.words]
        found = _LOCAL.match(texts[-1]) if command.name in _MAKERS else None
        if found and not command.enclosing and not script.functions:
            made.setdefault(found[0].rstrip("/"), command.line)
        if (starter_of(command) or command.name == "sbcast") and _MAKERS.intersection(texts):
            made_everywhere += " ".join(texts)
    yield from ((path, line) for path, line in made.items() if path not in made_everywhere)


def _arguments(script: Script, run: Command) -> str:
    """What the program of a command gets, with the values of constants."""
    words = outer_command(script, run).words
    start = next((n for n, word in enumerate(words) if _PROGRAM.search(word.text)), len(words))
    return script.resolved(" ".join(word.text for word in words[start:])).replace("${", "$")
