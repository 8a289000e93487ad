"""The scripts of a manifest: each combination of a job's matrix, its values filled into texts."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jobgen.errors import JobgenError, Mark, Problem, nearest_hint, problem
from jobgen.limits import MANIFEST_CHARACTERS, PROBLEMS_KEPT
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.option_row import Option
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.yaml_tree import Map
from jobgen.repository.script_paths import ScriptPaths

TEXT_COST = 16  # characters that each text counts in addition to its own
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")

Keys = Mapping[str, tuple[str, Option]]  # the field of Job and the option, by the manifest's key


@dataclass(frozen=True)
class Script:
    """A script to make: the fields of its job, its path, and where its values were set."""

    command: str | None
    fields: Mapping[str, Any]  # of Job
    path: Path
    real: str  # the path without links
    label: str
    tree: Map
    keys: Keys

    def job(self, command: str) -> Job:
        """The job. Raises JobgenError for an option that the command does not have."""
        fields = dict(self.fields)
        for field in self.fields.keys() - _fields_of(command):
            if field == "name":  # every job has one, for its file's name
                del fields["name"]
                continue
            key = next(key for key, (name, _) in self.keys.items() if name == field)
            text = f"`jobgen {command}` has no `{key}`"
            raise problem(self.place(key), text, "unknown-key")
        return Job(command, **fields)

    def place(self, key: str) -> Mark:
        """Where the value of a key was set, or else the job."""
        if key in self.tree.items:
            return self.tree.items[key].mark
        matrix = self.tree.items.get("matrix")
        if isinstance(matrix, Map) and key in matrix.items:
            return matrix.items[key].mark
        return self.tree.mark

    def with_places(self, error: JobgenError) -> list[Problem]:
        """The problems of an error, those of options with their places in the manifest."""
        keys = {flag: key for key, (_, option) in self.keys.items() for flag in option.flags}
        found = []
        for each in error.problems:
            mark = each.mark
            if not mark.line and mark.file.startswith("-"):
                key = keys.get(mark.file.split(" ")[0], "program" if mark.file == "--" else "")
                mark = self.place(key)
            found.append(Problem(mark, each.text, each.code, each.hint))
        return found


@cache
def _fields_of(command: str) -> frozenset[str]:
    return frozenset(("program", *(field for field, _ in job_options(command))))


class Scripts:
    """Iterates over the scripts of all jobs; it can go on after a JobgenError."""

    def __init__(
        self, paths: ScriptPaths, entries: Iterable[tuple[str, Map, Any]], keys: Keys
    ) -> None:
        self.paths = paths
        self.keys = keys
        self.texts = _Texts()
        self.combinations = (
            (name, tree, entry, dict(zip(entry.matrix, values, strict=True)))
            for name, tree, entry in entries
            for values in itertools.product(*entry.matrix.values())
        )

    def __iter__(self) -> Iterator[Script]:
        return self

    def __next__(self) -> Script:
        name, tree, entry, chosen = next(self.combinations)
        problems = ProblemList()
        options = self._options(entry, chosen)
        fields = self._fields(name, tree, entry, options, chosen, problems)
        plain = {key: fields[f] for key, f, _ in options if isinstance(fields.get(f), str)}
        mark = tree.items["file"].mark
        values = {**plain, "name": name, **chosen}
        text = self.texts.filled(entry.file, values, mark, problems)
        if problems.found:
            raise JobgenError(problems.found)
        described = ", ".join(f"{key:.80} {value:.80}" for key, value in chosen.items())
        label = f"`{name}` with {described}" if described else f"`{name}`"
        path, real = self.paths.add(text, label, mark)
        return Script(entry.command, fields, path, real, label, tree, self.keys)

    def _options(self, entry: Any, chosen: Mapping[str, str]) -> list[tuple[str, str, Option]]:
        """The key, the field and the option for each value of a job, its own or the matrix's."""
        values = {**{key: getattr(entry, key) for key in self.keys}, **chosen}
        return [
            (key, *self.keys[key]) for key in self.keys if values[key] not in (None, False, (), {})
        ]

    def _fields(
        self,
        name: str,
        tree: Map,
        entry: Any,
        options: list[tuple[str, str, Option]],
        chosen: Mapping[str, str],
        problems: ProblemList,
    ) -> dict[str, Any]:
        """The fields of a Job, with the values of the matrix filled in."""
        values, fields = {"name": name, **chosen}, {"name": name}
        for key, field, option in options:
            mark = tree.items[key].mark if key in tree.items else tree.mark
            value = chosen.get(key, getattr(entry, key))
            if key in chosen and option.metavar:
                fields[field] = value
            elif not option.metavar:
                is_set = value.lower() == "true" if key in chosen else value
                fields |= {field: option.flag_value} if is_set else {}
            else:
                fields[field] = self._filled(value, values, mark, problems)
        if entry.program:
            mark = tree.items["program"].mark
            fields["program"] = self._filled(entry.program, values, mark, problems)
        return fields

    def _filled(
        self, value: Any, values: Mapping[str, str], mark: Mark, problems: ProblemList
    ) -> Any:
        if isinstance(value, dict):
            value = tuple(f"{name}={text}" for name, text in value.items())
        if isinstance(value, tuple):
            return tuple(self.texts.filled(text, values, mark, problems) for text in value)
        return self.texts.filled(value, values, mark, problems)


class _Texts:
    """Fills values into texts, up to MANIFEST_CHARACTERS in all scripts."""

    def __init__(self) -> None:
        self.remaining = MANIFEST_CHARACTERS

    def filled(
        self, text: str, values: Mapping[str, str], mark: Mark, problems: ProblemList
    ) -> str:
        """The text with {NAME} replaced by its value; {{ and }} are braces."""

        def replacement(found: re.Match[str]) -> str:
            if found[0] in ("{{", "}}"):
                return found[0][0]
            if found[1] in values:
                self._spend(values[found[1]], mark)
                return values[found[1]]
            if len(problems.found) < PROBLEMS_KEPT:
                message = f"`{found[0]:.80}` in {text[:80]!r:.80} is not a value of the job"
                hint = f"{nearest_hint(found[1] or '', values)}; a brace is written {{{{ or }}}}"
                problems.note(mark, message, "unknown-value", hint)
            return ""

        self._spend(text, mark)
        return _PLACE.sub(replacement, text) if "{" in text or "}" in text else text

    def _spend(self, text: str, mark: Mark) -> None:
        self.remaining -= len(text) + TEXT_COST
        if self.remaining < 0:
            message = f"the values of all scripts have more than {MANIFEST_CHARACTERS} characters"
            raise problem(mark, message, "limit", "fewer scripts, or shorter values")
