"""Reads a manifest: jobs with defaults and a matrix, one script for each combination of its values.

    defaults: {profile: mi210, file: "jobs/{name}-{nodes}n-lr{lr}.sh"}
    jobs:
      bert:
        matrix: {nodes: [1, 2, 4], lr: [0.1, 0.01]}
        program: [train.py, --lr, "{lr}"]

The keys of a job are the options of the command line, with _ for -.
"""

import math
import re
from collections import namedtuple
from collections.abc import Container, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from jobgen.bounds import JOB_TEXT_BYTES, MANIFEST_SCRIPTS, MANIFEST_VALUES, MATRIX_KEYS, YAML_BYTES
from jobgen.errors import JobgenError, Problem, problem
from jobgen.planning.option_row import RANKS, Option
from jobgen.profiles.kinds import FREE, Bool, Choice, Kind, ProblemList, Text
from jobgen.profiles.mistakes.lines import followed
from jobgen.profiles.mistakes.readings import as_words
from jobgen.profiles.records import ListOf, MapOf, Record, record, row
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, as_flow, is_null, merge, parse
from jobgen.repository.manifest_mistakes import (
    JOBS_HINT,
    by_name,
    in_one,
    of_other_tool,
    refuse_profile,
)
from jobgen.repository.matrix import KEYS, Script, Scripts
from jobgen.repository.script_paths import ScriptPaths

# Any scalar; the meaning of `$NAME` in a value depends on the option that the value is for.
_VALUE = Text(r"[^\0]*", "a text or a number", any_scalar=True, most=JOB_TEXT_BYTES, dollar=FREE)
_NAME = Text(
    r"[A-Za-z0-9_][A-Za-z0-9_.+-]*",
    "a name of letters, digits and _ . + -",
    unlike=(
        r"\w[\w.+ /:-]*[ /:][\w.+ /:-]*",
        lambda name: f"write `{re.sub('[ /:]', '_', name)}:`",
    ),
)

_MATRIX_NAME = Text(
    r"[a-z]\w*",
    "a name of letters, digits and _ that begins with a small letter",
    unlike=(
        r".*[.-].*",
        lambda name: f"write `{re.sub('[^a-z0-9]', '_', name.lower())}`, and it in {{}}",
    ),
)


def _kind(option: Option) -> Kind:
    if not option.metavar:
        return Bool()
    if option.repeatable:
        has_names = "=" in option.metavar  # a map: a job's values are merged with the defaults'
        return MapOf(_VALUE, Text()) if has_names else ListOf(_VALUE, or_one=True)
    return _VALUE


_ENTRY_ROWS = {
    "command": row(Choice(*sorted(RANKS)), "Default: the one of the profile."),
    "host": row(Text(), "HOST[:FOLDER], by ssh: where --submit submits it."),
    "file": row(Text(), "The script's path from the manifest, a pattern."),
    "matrix": row(MapOf(ListOf(_VALUE), _MATRIX_NAME), "Values by name.", dict),
    "program": row(ListOf(_VALUE), "The program and its arguments.", tuple),
    **{key: row(_kind(option), option.help) for key, (_, option) in KEYS.items()},
}
Entry = record(namedtuple("Entry", _ENTRY_ROWS, defaults=_ENTRY_ROWS.values()))


@record
class Manifest(NamedTuple):
    """The top-level keys of a manifest."""

    defaults: Any = row(Record(Entry), "The values of every job that does not set them.", Entry)
    jobs: Any = row(MapOf(Record(Entry), _NAME), "The jobs by their names.", dict)


def read_manifest(file: Path) -> tuple[int, Iterator[Script | JobgenError], list[Path]]:
    """The number of scripts, the scripts, and the folders in which the scripts' patterns begin.

    The iterator yields an error instead of a script that cannot be made. Raises JobgenError with
    all problems of the manifest itself.
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
    if isinstance(tree, Map):
        refuse_profile(tree, file)
        tree = by_name(tree, problems)
    whole = Record(Manifest).read(tree, problems)
    if not isinstance(tree, Map):
        raise JobgenError(problems.found)
    found = [of_other_tool(each, tree) for each in problems.found]
    problems.found.clear()
    if found:
        tree = followed(tree, found := in_one(found, tree))
    jobs = _merged_jobs(tree, problems)
    if found := _without_repeats(found, problems.found):
        raise JobgenError(found)
    entries = [(name, job, Record(Entry).read(job, problems)) for name, job in jobs.items()]
    total = sum(math.prod(map(len, entry.matrix.values())) for _, _, entry in entries)
    if total > MANIFEST_SCRIPTS:
        text = f"{total} scripts, more than {MANIFEST_SCRIPTS}"
        raise problem(tree.mark, text, "limit", "a smaller matrix")
    paths = ScriptPaths(file.parent)
    patterns = {whole.defaults.file, *(entry.file for _, _, entry in entries)} - {None}
    folders = sorted({folder for each in patterns if (folder := paths.fixed_folder(each))})
    return total, Scripts(paths).of(entries), folders


def _without_repeats(of_keys: list[Problem], of_jobs: list[Problem]) -> list[Problem]:
    """All problems, without a key's problem if a check of its job found a better one there."""
    wrong = {each.mark for each in of_jobs}
    less = [each for each in of_keys if each.code == "variable" or "`after: " in each.hint]
    return [each for each in of_keys if each not in less or each.mark not in wrong] + of_jobs


def _merged_jobs(tree: Map, problems: ProblemList) -> dict[str, Map]:
    """The trees of the jobs, each merged over the defaults; notes the problems of the jobs."""
    merged: dict[str, Map] = {}
    defaults, jobs = tree.items.get("defaults"), tree.items.get("jobs")
    values = 0
    if not isinstance(jobs, Map):  # an empty map is right: then --prune removes the last script
        problems.note(tree.mark, "no jobs", "usage", JOBS_HINT)
        return merged
    for name, node in jobs.items.items():
        own = node if isinstance(node, Map) else Map(jobs.keys[name], {}, {})
        maps = [each.items.values() for each in (defaults, own) if isinstance(each, Map)]
        values += sum(len(getattr(each, "items", (each,))) for nodes in maps for each in nodes)
        if values > MANIFEST_VALUES:
            text = f"more than {MANIFEST_VALUES} values; those of `defaults` count for each job"
            problems.note(own.mark, text, "limit", "fewer values, or several manifests")
            return merged
        job = merge(defaults if isinstance(defaults, Map) else None, own)
        assert isinstance(job, Map)
        merged[name] = Map(jobs.keys[name], job.items, job.keys)
        _check_job(name, own, merged[name], problems)
        _check_variables(own, defaults, problems)
        _check_after(merged[name].items.get("after"), jobs, problems)
    return merged


def _check_job(name: str, own: Map, job: Map, problems: ProblemList) -> None:
    if "file" not in job.items or is_null(job.items["file"]):
        hint = 'such as `file: "jobs/{name}.sh"`, in the job or in `defaults`'
        problems.note(job.mark, f"job `{name}` has no `file`", "usage", hint)
    _check_program(own.items.get("program"), problems)
    matrix = job.items.get("matrix")
    names = matrix.items if isinstance(matrix, Map) else {}
    for key in ("program", "file", *KEYS):
        own_name = ["name"] if key == "file" else []
        _check_places(job.items.get(key), [*names, *own_name], problems)
    if matrix and len(names) > MATRIX_KEYS:
        text = f"a matrix of {len(names)} keys"
        problems.note(matrix.mark, text, "limit", f"at most {MATRIX_KEYS} for a job")
    for key, values in names.items():
        _check_matrix_key(key, values, own, problems)


def _check_program(node: Node | None, problems: ProblemList) -> None:
    """Note a word that has a script with its arguments, or an option with its value."""
    joined, words = list[Scalar](), list[Node]()
    for each in getattr(node, "items", ()):
        pattern = r"--?[A-Za-z][\w-]* \S" if words else r"(\S+\.py|python3?|torchrun) \S"
        if isinstance(each, Scalar) and re.match(pattern, each.text):
            joined.append(each)
        words += as_words(each) if each in joined else [each]
    for each in joined[:1]:
        hint = f"write `program: {as_flow(Seq(each.mark, words))}`"
        problems.note(each.mark, f"`{each.text:.60}` is one word with blanks", "value", hint)


def _check_places(node: Node | None, names: Container[str], problems: ProblemList) -> None:
    """Note a placeholder for a matrix value in another tool's form, such as ${lr} or {{ lr }}."""
    for each in node.items if isinstance(node, Seq) else [node]:
        text = each.text if isinstance(each, Scalar) else ""
        found = re.search(r"[$%]\{?(\w+)\}?|\$?\{\{ *(?:matrix\.)?(\w+) *\}\}", text)
        if isinstance(each, Scalar) and found and (name := found[1] or found[2]) in names:
            hint = f"write {as_flow(each._replace(text=text.replace(found[0], f'{{{name}}}')))}"
            problems.note(each.mark, f"`{found[0]}` is not the value of `{name}`", "value", hint)


def _check_variables(job: Map, defaults: Node | None, problems: ProblemList) -> None:
    """Note a variable without a value, unless that removes a variable of the defaults."""
    own = job.items.get("env")
    base = defaults.items.get("env") if isinstance(defaults, Map) else None
    if not isinstance(own, Map):
        return
    for name, node in own.items.items():
        is_empty = is_null(node) and getattr(node, "text", "") == ""  # a written null is intended
        if is_empty and name not in getattr(base, "items", ()):
            hint = f"for the value that it has where you submit, write `env: {{{name}: ${name}}}`"
            problems.note(own.keys[name], f"`{name}` has no value", "value", hint)


def _check_after(node: Node | None, jobs: Map, problems: ProblemList) -> None:
    """Note a job's name in `after`: a job of the manifest has no id before it is submitted."""
    for each in node.items if isinstance(node, Seq) else [node]:
        words = re.split("[:,]", each.text) if isinstance(each, Scalar) else []
        if each and (names := [word for word in words if word in jobs.items]):
            text = f"`{names[0]}` is a job of this manifest, and gets its id when it is submitted"
            hint = "leave it out; submit with sbatch --dependency=afterok:ID SCRIPT, or "
            hint += "qsub -W depend=afterok:ID SCRIPT"
            problems.note(each.mark, text, "value", hint)


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
