"""Warnings that an edit changes a job that is submitted, since the job runs no copy of the code."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from jobgen.errors import Mark, Problem
from jobgen.paths import is_file, is_outside, is_same_file, to_path
from jobgen.planning.plan import Plan
from jobgen.quoting import quote


def edit_warnings(plans: Sequence[Plan], within: Path, manifest: str = "") -> Iterator[Problem]:
    """The warnings about jobs that are submitted from the folder `within`, each of them once."""
    found = {file: None for plan in plans if (file := _edited_file(plan, within))}
    if found:
        folder = os.path.dirname(file) if (file := next(iter(found))).startswith("/") else "."
        text = f"an edit of {', '.join(found):.80} before the job starts changes the job"
        word = f"`code: {folder}` in {manifest}" if manifest else f"--code {quote(folder)}"
        yield Problem(Mark("--submit"), text, "edit", f"with {word}, it runs what is there now")
    yield from {warning: None for plan in plans for warning in _path_warnings(plan, within)}


def _edited_file(plan: Plan, within: Path) -> str:
    """The program's file, if the job reads it when it starts; "" if it is not here."""
    kind, name, arguments, _ = plan.program
    if plan.software.workspace or kind == "trainer":
        return ""
    module = name.replace(".", "/")
    files = [f"{module}.py", f"{module}/__main__.py"] if kind == "module" else [name]
    if kind == "command":  # as in: bash run.sh
        files += [word for word in arguments if word.endswith((".py", ".sh"))]
    return next((each for each in files if is_file(within / to_path(each))), "")


def _path_warnings(plan: Plan, within: Path) -> Iterator[Problem]:
    """Warnings that the shell's PYTHONPATH, which Slurm passes on, leads past the copy of code."""
    own = any(each.name == "PYTHONPATH" for each in plan.software.environment)
    if plan.software.code is None or own or plan.scheduler == "pbs":
        return
    code = within / to_path(plan.software.code)
    for path in map(Path, filter(None, os.environ.get("PYTHONPATH", "").split(":"))):
        if not is_outside(path, code) and not is_same_file(path, code):
            text = f"{path} is in the folder of the code, and not in its copy"
            hint = f"-e PYTHONPATH={quote(os.path.relpath(path))} is that folder of the copy"
            yield Problem(Mark("PYTHONPATH"), text, "edit", hint)
