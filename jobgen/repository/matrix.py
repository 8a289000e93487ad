"""The scripts of a manifest: one for each combination of matrix values, which fill its texts."""

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jobgen.bounds import MANIFEST_CHARACTERS, PROBLEMS_KEPT
from jobgen.errors import JobgenError, Mark, Problem, nearest_hint, problem
from jobgen.planning.job_options import OPTIONS, Job, job_options
from jobgen.planning.option_row import RANKS, Option
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.yaml_tree import Map, Scalar, Seq, as_flow, unquoted
from jobgen.quoting import split_words
from jobgen.repository.script_paths import ScriptPaths
from jobgen.schedulers import nearest_job_name

TEXT_COST = 16  # characters that are counted for each text in addition to its length
_PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")

# The options that a job can have: the field of Job and the option, by the manifest's key.
KEYS: dict[str, tuple[str, Option]] = {
    option.flags[-1].lstrip("-").replace("-", "_"): (field, option)
    for field, option in OPTIONS.items()
    if option.commands & RANKS
}
_KEY_OF_FIELD = {field: key for key, (field, _) in KEYS.items()}
_KEY_OF_FLAG = {flag: key for key, (_, option) in KEYS.items() for flag in option.flags}

_FLAG_OF_PATH = {
    option.path: flag for _, option in KEYS.values() for flag in option.flags if option.metavar
}

# The words up to a comma outside of quotes; after the comma, a hint names an alternative.
_FIRST_LINE = re.compile("(?:'[^']*'|[^',]|,(?! ))*")


def manifest_words(line: str) -> str:
    """The options in a line as keys of a manifest; "" for words that are no options with values."""
    words = split_words(_FIRST_LINE.findall(line)[0])
    values: dict[str, list[str]] = {}
    for flag, value in zip(words[::2], words[1::2], strict=False):
        path, _, text = value.partition("=") if flag in ("--set", "-e") else ("", "", value)
        if flag == "--set" and path in _FLAG_OF_PATH:
            path, flag = "", _FLAG_OF_PATH[path]
        text = as_flow(Scalar(Mark(path), text, unquoted(text)))
        one = f"{path}: {text}" if path else text
        values.setdefault(_KEY_OF_FLAG.get(flag, "name"), []).append(one)
    if len(words) % 2 or "name" in values or "VALUE" in line:
        return ""
    found = []
    for key, texts in values.items():
        ends = "{}" if key in ("set", "env") else "[]" * (len(texts) > 1)
        found.append(f"`{key}: {ends[:1]}{', '.join(texts)}{ends[1:]}`")
    return ", ".join(found)


@dataclass(frozen=True)
class Script:
    """A script to make: the fields of its job, its path, and the YAML tree with its values."""

    command: str | None
    fields: Mapping[str, Any]  # the arguments of Job
    path: Path
    real: str  # the path without links
    label: str
    key: str  # of its entry below `jobs`
    tree: Map
    host: str = ""  # where its job is submitted; "" for here

    def job(self, command: str) -> Job:
        """The job. Raises JobgenError for an option that the command does not have."""
        fields = dict(self.fields)
        own = {"program", *(field for field, _ in job_options(command))}
        for field in self.fields.keys() - own:
            if field == "name":  # the jobs of several commands may share it by `defaults`
                del fields["name"]
                continue
            key = _KEY_OF_FIELD[field]
            text = f"`jobgen {command}` has no `{key}`"
            raise problem(self.place(key), text, "unknown-key")
        if "name" in own:  # each job has a name of its own in the queue
            fields.setdefault("name", nearest_job_name(self.stem, command))
        return Job(command, **fields)

    @property
    def stem(self) -> str:
        """The file's name without .sh or a similar ending."""
        return re.sub(r"(?<=.)\.[A-Za-z]+$", "", self.path.name)

    def place(self, key: str) -> Mark:
        """The place where the value of a key was set; the job's place if it was not."""
        matrix = getattr(self.tree.items.get("matrix"), "items", {})
        places = {**matrix, **self.tree.items}
        return places[key].mark if key in places else self.tree.mark

    def with_places(self, problems: Iterable[Problem]) -> list[Problem]:
        """The problems, with places and keys of the manifest instead of options."""
        found = []
        for each in problems:
            mark, option = each.mark, ""
            if not mark.line and mark.file.startswith("-"):
                option = mark.file.split(" ")[0]
                key = {"--": "program", "--host": "host"}.get(option, _KEY_OF_FLAG.get(option, ""))
                mark = self.place(key)
            hint = re.sub(r"(?<!\S)((?:-[NG] \d+ )*)-- ([\w./-]+\.py)(?=,|$)", _keys, each.hint)
            if option and hint.startswith("write --"):
                hint = f"write {manifest_words(hint[6:].replace(', --', ' --')) or hint[6:]}"
            hint = re.sub(r"use -e (\w+) without the value", r"write `env: {\1: $\1}`", hint)
            if line := re.search(r"(?<=: )-- (bash -c .*)$", hint):
                words = Seq(mark, [Scalar(mark, word, word) for word in split_words(line[1])])
                hint = f"{hint[: line.start()]}write `program: {as_flow(words)}`"
            found.append(Problem(mark, each.text, each.code, hint))
        return found


def _keys(found: re.Match[str]) -> str:
    """The keys of a manifest for the options -N and -G and the program in a hint."""
    sizes = re.findall(r"(-[NG]) (\d+)", found[1])
    return f"`{''.join(f'{_KEY_OF_FLAG[flag]}: {n}, ' for flag, n in sizes)}program: [{found[2]}]`"


class Scripts:
    """Makes the scripts of jobs; all their texts together have at most MANIFEST_CHARACTERS."""

    def __init__(self, paths: ScriptPaths) -> None:
        self.paths = paths
        self.remaining = MANIFEST_CHARACTERS

    def of(self, jobs: Iterable[tuple[str, Map, Any]]) -> Iterator[Script | JobgenError]:
        """The script or error for each combination; a job is its name, YAML tree and entry."""
        for name, tree, entry in jobs:
            for values in itertools.product(*entry.matrix.values()):
                chosen = dict(zip(entry.matrix, values, strict=True))
                try:
                    yield self._script(name, tree, entry, chosen)
                except JobgenError as error:
                    yield error

    def _script(self, name: str, tree: Map, entry: Any, chosen: Mapping[str, str]) -> Script:
        problems = ProblemList()
        fields = self._fields(name, tree, entry, chosen, problems)
        plain = {key: fields.get(field) for key, (field, _) in KEYS.items()}
        texts = {key: value for key, value in plain.items() if isinstance(value, str)}
        mark = tree.items["file"].mark
        text = self._filled(entry.file, {**texts, "name": name, **chosen}, mark, problems)
        host_mark = tree.items["host"].mark if entry.host else mark
        host = self._filled(entry.host or "", {"name": name, **chosen}, host_mark, problems)
        if problems.found:
            raise JobgenError(problems.found)
        described = ", ".join(f"{key:.80} {value:.80}" for key, value in chosen.items())
        label = f"`{name}` with {described}" if described else f"`{name}`"
        absent = "".join(f"-{{{key}}}" for key in chosen if f"{{{key}}}" not in entry.file)
        stem, dot, suffix = entry.file.rpartition(".")
        pattern = f"{stem}{absent}{dot}{suffix}" if absent and stem else ""
        path, real = self.paths.add(text, label, mark, pattern)
        return Script(entry.command, fields, path, real, label, name, tree, host)

    def _fields(
        self, name: str, tree: Map, entry: Any, chosen: Mapping[str, str], problems: ProblemList
    ) -> dict[str, Any]:
        """The fields of a Job, in which each {NAME} is replaced by a value of the matrix."""
        values, fields = {"name": name, **chosen}, dict[str, Any]()
        for key, (field, option) in KEYS.items():
            value = chosen.get(key, getattr(entry, key))
            if value in (None, False, (), {}):
                continue
            if not option.metavar:
                is_set = value.lower() == "true" if key in chosen else value
                fields |= {field: option.flag_value} if is_set else {}
            elif key in chosen:
                fields[field] = value
            else:
                mark = tree.items[key].mark if key in tree.items else tree.mark
                fields[field] = self._filled(value, values, mark, problems)
        if entry.program:
            mark = tree.items["program"].mark
            fields["program"] = self._filled(entry.program, values, mark, problems)
        return fields

    def _filled(
        self, value: Any, values: Mapping[str, str], mark: Mark, problems: ProblemList
    ) -> Any:
        """A text, or each text of a value, with {NAME} replaced; {{ and }} become single braces."""
        if isinstance(value, dict):
            value = tuple(f"{name}={text}" for name, text in value.items())
        if isinstance(value, tuple):
            return tuple(self._filled(text, values, mark, problems) for text in value)

        def replacement(found: re.Match[str]) -> str:
            if found[0] in ("{{", "}}"):
                return found[0][0]
            if found[1] in values:
                self._spend(values[found[1]], mark)
                return values[found[1]]
            if len(problems.found) < PROBLEMS_KEPT:
                name = (found[1] or "").rpartition(".")[2].strip()
                message = f"`{found[0]:.80}` in {value[:80]!r:.80} is not a value of the job"
                near = f"write `{{{name}}}`" if name in values else nearest_hint(name, values)
                hint = f"{near}; a brace is written {{{{ or }}}}"
                problems.note(mark, message, "unknown-value", hint)
            return ""

        self._spend(value, mark)
        return _PLACE.sub(replacement, value) if "{" in value or "}" in value else value

    def _spend(self, text: str, mark: Mark) -> None:
        self.remaining -= len(text) + TEXT_COST
        if self.remaining < 0:
            message = f"the values of all scripts have more than {MANIFEST_CHARACTERS} characters"
            raise problem(mark, message, "limit", "fewer scripts, or shorter values")
