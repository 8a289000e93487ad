"""Warnings about a program whose file is not here. The machine may differ: they are no errors."""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.errors import Mark, Problem
from jobgen.paths import is_file, to_path
from jobgen.planning.plan import Plan


def program_advice(plan: Plan) -> Iterator[Problem]:
    """A warning if the program is a path to no file, or several words in one."""
    name = plan.program.name
    elsewhere = plan.software.workspace or plan.request.chdir  # a relative path counts from there
    in_workspace = elsewhere and not name.startswith("/")
    is_path = plan.program.kind == "script" or (plan.program.kind == "command" and "/" in name)
    if plan.program.kind not in ("script", "command") or in_workspace or "$" in name:
        return
    if is_file(to_path(name)):
        return
    first, *others = name.split()
    if others and not plan.program.arguments:
        words = others if first in ("python", "python3") and others[0].endswith(".py") else []
        hint = f"write the words apart: -- {' '.join(words or [first, *others])}"
        text = f"{name!r:.80} is one word with blanks, and no file here"
        yield Problem(Mark("--"), text, "program", hint)
    elif is_path:
        where = "" if name.startswith("/") else " in the folder that it is submitted from"
        text = f"there is no file {name!r:.80} here"
        yield Problem(Mark("--"), text, "program", f"the job needs it{where}")
