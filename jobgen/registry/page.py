"""The difference as text: what runs in jobs first, then values and names, then the files."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from jobgen.errors import printable
from jobgen.profiles.kinds import SHELL_LINE
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import ListOf, keys_of
from jobgen.registry.difference import Difference
from jobgen.repository.diff import diff_lines, shown_line

# Lists of options, which can name programs, too.
_OPTIONS = (
    *("launch.mpiexec_options", "launch.srun_options", "request.directives"),
    "software.container.options",
)
_RUNS = "Lines of their authors that differ; jobs run them with your rights:"
_VALUES = "Values that differ, so that scripts or limits do:"
Groups = dict[tuple[str, str], tuple[Any, Any, list[str]]]


def page(found: Difference, change: str) -> Iterator[str]:
    """The text, in parts; `change` says in diffs what the new files are."""
    shell = _shell_keys()
    groups: Groups = {}
    for each in found.changes:
        for path, (old, new) in each.values.items():
            group = groups.setdefault((path, _as_json([old, new])), (old, new, []))
            is_new_or_gone = each.old is None or each.new is None
            if (old or new) if path in shell else not is_new_or_gone:
                group[2].append(each.name)
    yield from _lines_that_run({key: each for key, each in groups.items() if key[0] in shell})
    yield from _values({key: each for key, each in groups.items() if key[0] not in shell})
    yield from _names(found)
    for each in found.changes:
        if each.old is not None and each.new is not None and each.old != each.new:
            yield "\n"
            yield from diff_lines(f"{each.name}.yaml", each.old, each.new, change)


def _shell_keys() -> set[str]:
    """The keys whose values are shell, by their kind, and those that are options of programs."""
    kinds = {key.path: key.row.kind for key in keys_of(ROOT.cls)}
    lists = {path: kind.item for path, kind in kinds.items() if isinstance(kind, ListOf)}
    return {*_OPTIONS, *(path for path, item in lists.items() if item is SHELL_LINE)}


def _lines_that_run(groups: Groups) -> Iterator[str]:
    """Each list that differs, whole: lines that stay are there, too, since the order counts."""
    parts = [
        part
        for (path, _), (old, new, names) in groups.items()
        if names
        for part in (f"  {path} of {_listed(names)}:\n", *_compared(old or (), new or ()))
    ]
    if parts:
        yield from (f"{_RUNS}\n", *parts, "\n")


def _compared(old: tuple[str, ...], new: tuple[str, ...]) -> Iterator[str]:
    for line in (each for each in old if each not in new):
        yield f"    {shown_line(f'- {line}')}"
    for line in new:
        yield f"    {shown_line(f'  {line}' if line in old else f'+ {line}')}"


def _values(groups: Groups) -> Iterator[str]:
    lines = [
        f"  {printable(path)}: {printable(_as_json(old))} → {printable(_as_json(new))}"
        f" in {_listed(names)}\n"
        for (path, _), (old, new, names) in groups.items()
        if names
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
    }
    for title, names in rows.items():
        if names:
            yield f"{title}: {_listed(names)}\n"
    if found.proofs:
        yield f"Proofs that a profile ran: {found.proofs} are new or gone\n"


def _listed(names: list[str]) -> str:
    return printable(", ".join(names))


def _as_json(value: Any) -> str:
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
