"""Reads a manifest: jobs with defaults and a matrix, a script for each combination of its values.

    defaults: {profile: mi210, file: "jobs/{name}-{nodes}n-lr{lr}.sh"}
    jobs:
      bert:
        matrix: {nodes: [1, 2, 4], lr: [0.1, 0.01]}
        program: [train.py, --lr, "{lr}"]

Its keys are the options of the command line, with _ for -.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, make_dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jobgen.errors import JobgenError, Mark, Problem, problem
from jobgen.job import OPTIONS, RANKS, Job, Option, options
from jobgen.places import Places
from jobgen.program import LONGEST_WORDS
from jobgen.schema import (
    Bool,
    Choice,
    Kind,
    ListOf,
    MapOf,
    Reading,
    Record,
    Text,
    is_null,
    nearest,
    row,
)
from jobgen.schema import merged as merged_trees
from jobgen.yamltree import LARGEST_FILE, Map, Node, Scalar, parse

MOST = 100_000  # scripts: a matrix grows fast
MOST_KEYS = 64  # of a job's matrix
MOST_VALUES = 1 << 21  # of all jobs, those of the defaults counted for each job
MOST_FILLED = 1 << 28  # characters of all scripts' values; an honest script has some hundreds
EACH = 16  # characters that a text or a value counts for beside its own
MOST_NOTED = 500  # problems of a script's values

_VALUE = Text(r"[^\0]*", "a text or a number", any_scalar=True, most=LONGEST_WORDS)
_NAME = Text(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", "a name of letters, digits and _ . + -")
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")

# The options that a job can say, by their keys.
KEYS: dict[str, tuple[str, Option]] = {
    option.flags[-1].lstrip("-").replace("-", "_"): (field, option)
    for field, option in OPTIONS.items()
    if option.commands & RANKS
}


def _kind(option: Option) -> Kind:
    if not option.metavar:
        return Bool()
    if option.many:
        pairs = "=" in option.metavar  # a map, so that defaults and a job's add up
        return MapOf(_VALUE, Text()) if pairs else ListOf(_VALUE, or_one=True)
    return _VALUE


Entry: type = make_dataclass(
    "Entry",
    [
        ("command", Any, row(Choice(*sorted(RANKS)), "By default, the one of the profile.")),
        ("file", Any, row(Text(), "The script's path from the manifest, a pattern.")),
        ("matrix", Any, row(MapOf(ListOf(_VALUE), Text(r"[a-z]\w*")), "Values by name.", dict)),
        ("program", Any, row(ListOf(_VALUE), "The program and its arguments.", tuple)),
        *((key, Any, row(_kind(option), option.help)) for key, (_, option) in KEYS.items()),
    ],
    frozen=True,
)


@dataclass(frozen=True)
class Manifest:
    """What a manifest's file says."""

    defaults: Any = row(Record(Entry), "What every job says, unless it says otherwise.", Entry)
    jobs: Any = row(MapOf(Record(Entry), _NAME), "The jobs by their names.", dict)


@dataclass(frozen=True)
class Script:
    """A script to make: the words of its job's options, its path, and where they were said."""

    command: str | None
    given: Mapping[str, Any]  # fields of Job
    path: Path
    real: str  # the same without links
    label: str
    tree: Map

    def job(self, command: str) -> Job:
        """The job. Raises JobgenError for an option that the command does not have."""
        given = dict(self.given)
        for field in self.given.keys() - _fields(command):
            if field == "name":  # every job has one, for its file's
                del given["name"]
                continue
            key = next(key for key, (name, _) in KEYS.items() if name == field)
            text = f"`{key}` is nothing that `jobgen {command}` is told"
            raise problem(self.place(key), text, "unknown-key")
        return Job(command, **given)

    def place(self, key: str) -> Mark:
        """Where the value of a key was said; else the job."""
        if key in self.tree.items:
            return self.tree.items[key].mark
        matrix = self.tree.items.get("matrix")
        if isinstance(matrix, Map) and key in matrix.items:
            return matrix.items[key].mark
        return self.tree.mark

    def placed(self, error: JobgenError) -> list[Problem]:
        """The problems of an error, those of options at their places in the manifest."""
        keys = {flag: key for key, (_, option) in KEYS.items() for flag in option.flags}
        found = []
        for each in error.problems:
            mark = each.mark
            if not mark.line and mark.file.startswith("-"):
                key = keys.get(mark.file.split(" ")[0], "program" if mark.file == "--" else "")
                mark = self.place(key)
            found.append(Problem(mark, each.text, each.code, each.hint))
        return found


@cache
def _fields(command: str) -> frozenset[str]:
    return frozenset(("program", *(field for field, _ in options(command))))


def read(file: Path) -> tuple[int, Iterator[Script], list[Path]]:
    """How many scripts a manifest has, the scripts one by one, and the folders in which the `file`
    patterns of its jobs and of its defaults begin.

    Raises JobgenError with all that is wrong with the file; so does the iterator for what is wrong
    with one script's values, and goes on after that if it is asked to.
    """
    try:
        if file.exists() and not file.is_file():  # a pipe would wait for who writes to it
            raise problem(str(file), "no regular file", "unreadable")
        with file.open("rb") as stream:
            tree = parse(stream.read(LARGEST_FILE + 1), str(file))
    except OSError as error:
        raise problem(str(file), f"cannot be read: {error.strerror}", "unreadable") from None
    to = Reading()
    Record(Manifest).read(tree, to)
    if to.problems:
        raise JobgenError(to.problems)
    jobs = _jobs(tree, to)
    if to.problems:
        raise JobgenError(to.problems)
    total = sum(_count(job) for job in jobs.values())
    if total > MOST:
        raise problem(tree.mark, f"{total} scripts, more than {MOST}", "limit", "a smaller matrix")
    places = Places(file.parent)
    return total, _Scripts(places, jobs), _begin(tree, jobs, places)


def _begin(tree: Node, jobs: Mapping[str, Map], places: Places) -> list[Path]:
    defaults = tree.items.get("defaults") if isinstance(tree, Map) else None
    said = [each.items.get("file") for each in (defaults, *jobs.values()) if isinstance(each, Map)]
    patterns = {
        node.text for node in said if isinstance(node, Scalar) and isinstance(node.value, str)
    }
    return sorted({folder for each in patterns if (folder := places.begin(each))})


def _jobs(tree: Node, to: Reading) -> dict[str, Map]:
    """The trees of the jobs, each on top of the defaults; notes what no job may lack."""
    found: dict[str, Map] = {}
    assert isinstance(tree, Map)
    defaults, jobs = tree.items.get("defaults"), tree.items.get("jobs")
    values = 0
    if not isinstance(jobs, Map):  # an empty one is right: after the last job, there is --prune
        to.note(tree.mark, "no jobs", "usage", "such as `jobs: {bert: {program: [train.py]}}`")
        return found
    for name, node in jobs.items.items():
        own = node if isinstance(node, Map) else Map(jobs.keys[name], {}, {})
        values += sum(_size(each.items) for each in (defaults, own) if isinstance(each, Map))
        if values > MOST_VALUES:
            text = f"more than {MOST_VALUES} values, those of `defaults` counted for each job"
            to.note(own.mark, text, "limit", "fewer of them, or several manifests")
            return found
        job = merged_trees(defaults if isinstance(defaults, Map) else None, own)
        assert isinstance(job, Map)
        found[name] = Map(jobs.keys[name], job.items, job.keys)
        _check(name, own, found[name], to)
    return found


def _size(items: Mapping[str, Node]) -> int:
    return sum(1 if isinstance(each, Scalar) else len(each.items) for each in items.values())


def _check(name: str, own: Map, job: Map, to: Reading) -> None:
    matrix = job.items.get("matrix")
    if "file" not in job.items or is_null(job.items["file"]):
        text = f"job `{name}` says no `file`"
        to.note(job.mark, text, "usage", "such as `file: jobs/{name}.sh`, in it or in `defaults`")
    if isinstance(matrix, Map) and len(matrix.items) > MOST_KEYS:
        text = f"a matrix of {len(matrix.items)} keys"
        to.note(matrix.mark, text, "limit", f"at most {MOST_KEYS} for a job")
    for key, values in matrix.items.items() if isinstance(matrix, Map) else ():
        if not getattr(values, "items", True):
            to.note(values.mark, f"no values for `{key}`", "value", "at least one")
        if key in own.items:
            hint = "say it once"
            to.note(own.keys[key], f"`{key}` is in the matrix, too", "conflict", hint)
        if key in KEYS and not KEYS[key][1].metavar:
            for value in getattr(values, "items", ()):
                Bool().read(value, to)
        if key in KEYS and KEYS[key][1].many:
            hint = "another name, and {NAME} where the value goes"
            to.note(values.mark, f"`{key}` takes several values anyway", "conflict", hint)
        if key in ("file", "matrix", "program", "command"):
            to.note(values.mark, f"`{key}` cannot be in a matrix", "conflict", "another name")


def _count(job: Map) -> int:
    matrix = Record(Entry).read(job, Reading()).matrix
    return math.prod(len(values) for values in matrix.values())


class _Scripts:
    """The scripts of all jobs; goes on after an error."""

    def __init__(self, places: Places, jobs: Mapping[str, Map]) -> None:
        self.places = places
        self.filling = _Filling()
        self.left = (
            (name, tree, entry, keys, dict(zip(entry.matrix, values, strict=True)))
            for name, tree in jobs.items()
            for entry in [Record(Entry).read(tree, Reading())]
            for keys in [_keys(entry)]
            for values in itertools.product(*entry.matrix.values())
        )

    def __iter__(self) -> Iterator[Script]:
        return self

    def __next__(self) -> Script:
        name, tree, entry, keys, chosen = next(self.left)
        to = Reading()
        given = _given(name, tree, entry, keys, chosen, to, self.filling)
        plain = {key: given[f] for key, f, _ in keys if isinstance(given.get(f), str)}
        mark = tree.items["file"].mark
        text = self.filling.filled(entry.file, {**plain, "name": name, **chosen}, mark, to)
        if to.problems:
            raise JobgenError(to.problems)
        values = ", ".join(f"{key:.80} {value:.80}" for key, value in chosen.items())
        label = f"`{name}` with {values}" if values else f"`{name}`"
        path, real = self.places.take(text, label, mark)
        return Script(entry.command, given, path, real, label, tree)


_Keys = list[tuple[str, str, Option]]


def _keys(entry: Any) -> _Keys:
    """What a job says, itself or by its matrix: the key, the field and the option of each."""
    said = {key: getattr(entry, key) for key in KEYS} | entry.matrix
    return [(key, *KEYS[key]) for key in KEYS if said[key] not in (None, False, (), {})]


def _given(
    name: str,
    tree: Map,
    entry: Any,
    keys: _Keys,
    chosen: Mapping[str, str],
    to: Reading,
    filling: _Filling,
) -> dict[str, Any]:
    """The fields of a Job, the values of the matrix filled in."""
    known, filled = {"name": name, **chosen}, filling.filled
    given: dict[str, Any] = {"name": name}
    for key, field, option in keys:
        said = chosen.get(key, getattr(entry, key))
        if key in chosen and not option.metavar:
            said = said.lower() == "true"
        if said is False:
            continue
        mark = tree.items[key].mark if key in tree.items else tree.mark
        if said is True:
            given[field] = option.value
        elif isinstance(said, dict):
            pairs = (f"{name}={value}" for name, value in said.items())
            given[field] = tuple(filled(text, known, mark, to) for text in pairs)
        elif isinstance(said, tuple):
            given[field] = tuple(filled(text, known, mark, to) for text in said)
        else:
            given[field] = said if key in chosen else filled(said, known, mark, to)
    if entry.program:
        mark = tree.items["program"].mark
        given["program"] = tuple(filled(text, known, mark, to) for text in entry.program)
    return given


class _Filling:
    """Puts values into texts, up to MOST_FILLED characters of all scripts."""

    def __init__(self) -> None:
        self.left = MOST_FILLED

    def filled(self, text: str, known: Mapping[str, str], mark: Mark, to: Reading) -> str:
        """The text with {NAME} replaced by what is known; {{ and }} are braces."""

        def value(found: re.Match[str]) -> str:
            if found[0] in ("{{", "}}"):
                return found[0][0]
            if found[1] in known:
                self._take(known[found[1]], mark)
                return known[found[1]]
            if len(to.problems) < MOST_NOTED:
                what = f"`{found[0]:.80}` in {text[:80]!r:.80} is no value of the job's"
                hint = f"{nearest(found[1] or '', known)}; a brace is written {{{{ or }}}}"
                to.note(mark, what, "unknown-value", hint)
            return ""

        self._take(text, mark)
        return _PLACE.sub(value, text) if "{" in text or "}" in text else text

    def _take(self, text: str, mark: Mark) -> None:
        self.left -= len(text) + EACH
        if self.left < 0:
            what = f"the values of all scripts have more than {MOST_FILLED} characters"
            raise problem(mark, what, "limit", "fewer scripts, or shorter values")
