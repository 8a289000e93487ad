"""Reads a manifest: jobs with defaults and a matrix, one script for each combination of its values.

    defaults: {profile: mi210, file: "jobs/{name}-{nodes}n-lr{lr}.sh"}
    jobs:
      bert:
        matrix: {nodes: [1, 2, 4], lr: [0.1, 0.01]}
        program: [train.py, --lr, "{lr}"]

Its keys are the options of the command line, with _ for -.
"""

import math
import re
from collections import namedtuple
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from jobgen.errors import JobgenError, Problem, problem
from jobgen.limits import (
    JOB_TEXT_BYTES,
    MANIFEST_SCRIPTS,
    MANIFEST_VALUES,
    MATRIX_KEYS,
    YAML_BYTES,
)
from jobgen.planning.option_row import RANKS, Option
from jobgen.profiles.kinds import FREE, Bool, Choice, Kind, ProblemList, Text
from jobgen.profiles.mistakes.readings import as_flow, as_words
from jobgen.profiles.records import ListOf, MapOf, Record, record, row
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, is_null, merge, parse
from jobgen.repository.matrix import KEYS, Script, Scripts, manifest_words
from jobgen.repository.script_paths import ScriptPaths

# The option that a value is for says what `$NAME` in it means.
_VALUE = Text(r"[^\0]*", "a text or a number", any_scalar=True, most=JOB_TEXT_BYTES, dollar=FREE)
_NAME = Text(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", "a name of letters, digits and _ . + -")


def _kind(option: Option) -> Kind:
    if not option.metavar:
        return Bool()
    if option.repeatable:
        has_names = "=" in option.metavar  # a map, so that those of defaults and a job add up
        return MapOf(_VALUE, Text()) if has_names else ListOf(_VALUE, or_one=True)
    return _VALUE


_ENTRY_ROWS = {
    "command": row(Choice(*sorted(RANKS)), "Default: the one of the profile."),
    "file": row(Text(), "The script's path from the manifest, a pattern."),
    "matrix": row(MapOf(ListOf(_VALUE), Text(r"[a-z]\w*")), "Values by name.", dict),
    "program": row(ListOf(_VALUE), "The program and its arguments.", tuple),
    **{key: row(_kind(option), option.help) for key, (_, option) in KEYS.items()},
}
Entry = record(namedtuple("Entry", _ENTRY_ROWS, defaults=_ENTRY_ROWS.values()))


@record
class Manifest(NamedTuple):
    """The keys of a manifest's file."""

    defaults: Any = row(Record(Entry), "The values of every job that does not set them.", Entry)
    jobs: Any = row(MapOf(Record(Entry), _NAME), "The jobs by their names.", dict)


def read_manifest(file: Path) -> tuple[int, Iterator[Script | JobgenError], list[Path]]:
    """The number of scripts, the scripts, and the folders in which their patterns begin.

    In the place of a script may be its error. Raises JobgenError for a manifest that is wrong as a
    whole, with all its problems.
    """
    try:
        if file.exists() and not file.is_file():  # opening a pipe would wait for its writer
            raise problem(str(file), "not a regular file", "unreadable")
        with file.open("rb") as stream:
            tree = parse(stream.read(YAML_BYTES + 1), str(file))
    except OSError as error:
        hint = "`jobgen build FILE` reads another" if str(file) == "jobgen.yaml" else ""
        text = f"cannot be read: {error.strerror}"
        raise problem(str(file), text, "unreadable", hint) from None
    problems = ProblemList()
    Record(Manifest).read(tree, problems)
    if problems.found:
        raise JobgenError([_of_other_tool(each, tree) for each in problems.found])
    jobs = _merged_jobs(tree, problems)
    if problems.found:
        raise JobgenError(problems.found)
    entries = [(name, job, Record(Entry).read(job, problems)) for name, job in jobs.items()]
    total = sum(math.prod(map(len, entry.matrix.values())) for _, _, entry in entries)
    if total > MANIFEST_SCRIPTS:
        text = f"{total} scripts, more than {MANIFEST_SCRIPTS}"
        raise problem(tree.mark, text, "limit", "a smaller matrix")
    paths = ScriptPaths(file.parent)
    return total, Scripts(paths).of(entries), _folders(tree, jobs, paths)


_JOBS = "such as `jobs: {bert: {program: [train.py]}}`"


def _of_other_tool(each: Problem, tree: Node) -> Problem:
    """A problem; that of an unknown key which is an option of another tool says what has it."""
    top = tree.items if isinstance(tree, Map) else {}
    jobs = top.get("jobs")
    if each.code == "type" and each.mark == getattr(jobs, "mark", None):
        return each._replace(hint=_JOBS)
    if each.code != "unknown-key":
        return each
    maps = [top.get("defaults"), *(jobs.items.values() if isinstance(jobs, Map) else ())]
    for job in (one for one in maps if isinstance(one, Map)):
        name = next((name for name, mark in job.keys.items() if mark == each.mark), "")
        if value := getattr(job.items.get(name), "text", ""):
            from jobgen.planning.key_words import option_words

            hint = manifest_words(option_words(name, "sbatch", value))
            return each._replace(hint=f"write {hint}") if hint else each
    return each


def _folders(tree: Node, jobs: Mapping[str, Map], paths: ScriptPaths) -> list[Path]:
    defaults = tree.items.get("defaults") if isinstance(tree, Map) else None
    nodes = [each.items.get("file") for each in (defaults, *jobs.values()) if isinstance(each, Map)]
    patterns = {
        node.text for node in nodes if isinstance(node, Scalar) and isinstance(node.value, str)
    }
    return sorted({folder for each in patterns if (folder := paths.fixed_folder(each))})


def _merged_jobs(tree: Node, problems: ProblemList) -> dict[str, Map]:
    """The trees of the jobs, each merged over the defaults; notes what a job lacks."""
    merged: dict[str, Map] = {}
    assert isinstance(tree, Map)
    defaults, jobs = tree.items.get("defaults"), tree.items.get("jobs")
    values = 0
    if not isinstance(jobs, Map):  # an empty one is right: the last job may be removed by --prune
        problems.note(tree.mark, "no jobs", "usage", _JOBS)
        return merged
    for name, node in jobs.items.items():
        own = node if isinstance(node, Map) else Map(jobs.keys[name], {}, {})
        values += sum(_size(each.items) for each in (defaults, own) if isinstance(each, Map))
        if values > MANIFEST_VALUES:
            text = f"more than {MANIFEST_VALUES} values; those of `defaults` count for each job"
            problems.note(own.mark, text, "limit", "fewer values, or several manifests")
            return merged
        job = merge(defaults if isinstance(defaults, Map) else None, own)
        assert isinstance(job, Map)
        merged[name] = Map(jobs.keys[name], job.items, job.keys)
        _check_job(name, own, merged[name], problems)
    return merged


def _size(items: Mapping[str, Node]) -> int:
    return sum(1 if isinstance(each, Scalar) else len(each.items) for each in items.values())


def _check_job(name: str, own: Map, job: Map, problems: ProblemList) -> None:
    if "file" not in job.items or is_null(job.items["file"]):
        hint = "such as `file: jobs/{name}.sh`, in the job or in `defaults`"
        problems.note(job.mark, f"job `{name}` has no `file`", "usage", hint)
    _check_program(own.items.get("program"), problems)
    matrix = job.items.get("matrix")
    if isinstance(matrix, Map) and len(matrix.items) > MATRIX_KEYS:
        text = f"a matrix of {len(matrix.items)} keys"
        problems.note(matrix.mark, text, "limit", f"at most {MATRIX_KEYS} for a job")
    for key, values in matrix.items.items() if isinstance(matrix, Map) else ():
        _check_matrix_key(key, values, own, problems)


def _check_program(node: Node | None, problems: ProblemList) -> None:
    """Note a script and its arguments in one word, which would be the name of a program."""
    word = node.items[0] if isinstance(node, Seq) and len(node.items) == 1 else None
    if isinstance(word, Scalar) and re.match(r"(\S+\.py|python3?) \S", word.text):
        hint = f"write `program: {as_flow(Seq(word.mark, as_words(word)))}`"
        problems.note(word.mark, f"`{word.text:.60}` is one word with blanks", "value", hint)


def _check_matrix_key(key: str, values: Node, own: Map, problems: ProblemList) -> None:
    if not getattr(values, "items", True):
        problems.note(values.mark, f"no values for `{key}`", "value", "at least one")
    if key in own.items:
        problems.note(own.keys[key], f"`{key}` is in the matrix, too", "conflict", "set it once")
    if key in KEYS and not KEYS[key][1].metavar:
        for value in getattr(values, "items", ()):
            Bool().read(value, problems)
    if key in KEYS and KEYS[key][1].repeatable:
        hint = "another name, and {NAME} in the place of the value"
        problems.note(values.mark, f"`{key}` takes several values anyway", "conflict", hint)
    if key in ("file", "matrix", "program", "command"):
        problems.note(values.mark, f"`{key}` cannot be in a matrix", "conflict", "another name")
