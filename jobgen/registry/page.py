"""The difference as text: what runs in jobs first, then values and names, then the files."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jobgen.errors import printable
from jobgen.profiles.kinds import SHELL_LINE
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import ListOf, keys_of
from jobgen.registry.difference import VARIABLES, Difference
from jobgen.repository.diff import diff_lines, shown_line

# Lists of options, which can name programs, too.
_OPTIONS = (
    *("launch.mpiexec_options", "launch.srun_options", "request.directives"),
    "software.container.options",
)
# Paths and addresses of programs and libraries that jobs run.
_PROGRAMS = (
    *("software.venv", "software.conda", "software.stage_from", "software.jobgen"),
    *("software.nccl_root", "software.aws_ofi_nccl_root", "workspace.url", "workspace.commit"),
    *("software.container.image", "software.container.environment", "software.container.mounts"),
)
# Variables that make other programs run what they name: loaders, shells, Python, compilers, NCCL.
_RUNNING = re.compile(
    r"LD_\w+|\w*PATH|PYTHON(?:STARTUP|HOME|USERBASE|BREAKPOINT|INSPECT)|BASH_ENV|ENV|BASH_FUNC_.*"
    r"|\w+_PLUGIN|CC|CXX|(?:CUDA|ROCM)_HOME"
)
_RUNS = "Lines and paths of their authors that differ; jobs run them with your rights:"
_VALUES = "Values that differ, so that scripts or limits do:"
_MOST_NAMES = 3  # that have a value by a base, and are listed
# Old and new values, and the names of the changes with them: own ones, and those by a base alone.
Groups = dict[tuple[str, str], tuple[Any, Any, list[str], list[str]]]


def page(found: Difference, change: str) -> Iterator[str]:
    """The text, in parts; `change` says in diffs what the new files are."""
    runs, others = _groups(found)
    yield from _lines_that_run(runs)
    yield from _values(others)
    yield from _names(found)
    for each in found.changes:
        if each.old is not None and each.new is not None and each.old != each.new:
            yield "\n"
            yield from diff_lines(f"{each.name}.yaml", each.old, each.new, change)


def _groups(found: Difference) -> tuple[Groups, Groups]:
    """What runs with the user's rights, and other values: the changes with the same one together.

    Of a new profile, its variables are shown, too; of one that is gone, only what ran.
    """
    keys = _running_keys()
    runs: Groups = {}
    others: Groups = {}
    for each in found.changes:
        is_there = each.old is not None and each.new is not None
        for path, (old, new) in each.values.items():
            name = path.removeprefix(VARIABLES)
            does_run = bool(_RUNNING.fullmatch(name)) if name != path else path in keys
            is_shown = is_there or (each.new is not None and name != path)
            if (old or new) if does_run else is_shown:
                groups = runs if does_run else others
                group = groups.setdefault((path, _as_json([old, new])), (old, new, [], []))
                group[2 + (each.old == each.new)].append(each.name)
    return runs, others


def _running_keys() -> set[str]:
    """The keys whose values are shell, by their kind, or are options or paths of programs."""
    kinds = {key.path: key.row.kind for key in keys_of(ROOT.cls)}
    lists = {path: kind.item for path, kind in kinds.items() if isinstance(kind, ListOf)}
    shell = {path for path, item in lists.items() if item is SHELL_LINE}
    return {*_OPTIONS, *_PROGRAMS, *shell}


def _lines_that_run(groups: Groups) -> Iterator[str]:
    """Each list that differs, whole: lines that stay are there, too, since the order counts."""
    parts = [
        part
        for (path, _), (old, new, own, by_base) in groups.items()
        for part in (
            f"  {printable(path)} of {_of_base(own, by_base)}:\n",
            *_compared(_lines(old), _lines(new)),
        )
    ]
    if parts:
        yield from (f"{_RUNS}\n", *parts, "\n")


def _lines(value: Any) -> tuple[str, ...]:
    """The lines of a list, or the one of another value."""
    if value is None or isinstance(value, tuple):
        return value or ()
    return (value if isinstance(value, str) else _as_json(value),)


def _of_base(own: list[str], by_base: list[str]) -> str:
    """The names; many that have a change by a base alone are a number."""
    if len(by_base) <= _MOST_NAMES or not own:
        return _listed([*own, *by_base])
    return f"{_listed(own)} and {len(by_base)} others by their bases"


def _compared(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[str]:
    for line in (each for each in old if each not in new):
        yield f"    {shown_line(f'- {line}')}"
    for line in new:
        yield f"    {shown_line(f'  {line}' if line in old else f'+ {line}')}"


def _values(groups: Groups) -> Iterator[str]:
    lines = [
        f"  {printable(path)}: {printable(_as_json(old))} → {printable(_as_json(new))}"
        f" in {_of_base(own, by_base)}\n"
        for (path, _), (old, new, own, by_base) in groups.items()
    ]
    if lines:
        yield from (f"{_VALUES}\n", *lines, "\n")


def _names(found: Difference) -> Iterator[str]:
    by_base = [each.name for each in found.changes if each.old == each.new]
    rows: Mapping[str, list[str]] = {
        "New": found.names(False, True),
        "Gone": found.names(True, False),
        "Changed": [name for name in found.names(True, True) if name not in by_base],
        "Changed by a base alone": by_base,
        "New proofs": found.proof_names(False, True),
        "Proofs that are gone": found.proof_names(True, False),
        "Changed proofs": found.proof_names(True, True),
    }
    for title, names in rows.items():
        if names:
            yield f"{title}: {_listed(names)}\n"


def _listed(names: list[str]) -> str:
    return printable(", ".join(names))


def _as_json(value: Any) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
