"""What differs between two jobs: options, parts, versions, environment, nodes, and their code."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import unified_diff
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from jobgen.bounds import CODE_LIST_BYTES
from jobgen.code_store.code import NAME_CHARACTERS, listed_sums
from jobgen.code_store.code_files import CODE_BYTES, LIST_FILE
from jobgen.errors import JobgenError, problem
from jobgen.runs.records import read_plain
from jobgen.runs.runs import Run
from jobgen.runs.script_facts import place_of, read_script


def differences(one: Run, other: Run) -> Iterator[tuple[str, list[str]]]:
    """What differs, without the text of the code: headings, each with the lines of a diff."""
    pair = one, other
    old, new = ({**_of_script(run), **_of_record(run)} for run in pair)
    if unknown := [line for run in pair for line in _without_script(run)]:
        yield "options, environment", unknown
    for heading in [name for name in new if name in old]:
        lines = unified_diff(old[heading], new[heading], n=0)
        changes = [f"{x[0]} {x[1:]}" for x in islice(lines, 2, None) if x[0] in "-+"]
        if changes:
            yield heading, changes


def _without_script(run: Run) -> Iterator[str]:
    try:
        read_script(run.record)
    except JobgenError as error:
        yield f"  not known of job {run.record.job}: {error.problems[0].text}"


def _of_script(run: Run) -> dict[str, list[str]]:
    """What its script says of a job, by headings; {} if there is no script."""
    facts = run.facts
    if not facts.command:
        return {}
    made_of = [part for part in facts.made_of.split(", ") if not part.startswith("code ")]
    environment = os.path.basename(facts.environment)
    return {
        "options": _options(facts.words),
        "made of": made_of,
        "environment": [environment] if environment else [],
    }


def _of_record(run: Run) -> dict[str, list[str]]:
    record, code = run.record, code_name(run)
    return {
        "versions": record.versions.split(", ") if record.versions else [],
        "nodes": record.nodes.split(),
        "code": [code] if code else [],
    }


def code_name(run: Run) -> str:
    """The name of a job's copy of the code, with its commit; "" if it ran none."""
    code = run.record.code
    name = os.path.basename(run.code)
    commit = str(code.get("commit") or "")[:12]
    changed = ", changed" if code.get("differs") else ""
    return f"{name}{f' (commit {commit}{changed})' if commit else ''}" if name else ""


def _options(words: Sequence[str]) -> list[str]:
    """The words of a command: each option with its value, each word of the program by itself."""
    groups = list[str]()
    for word in words[1:]:
        before = groups[-1] if groups else ""
        takes_value = before.startswith("-") and before != "--" and not {" ", "="} & {*before}
        if takes_value and not word.startswith("-"):
            groups[-1] += f" {word}"
        else:
            groups.append(word)
    return groups


class CodeFiles(NamedTuple):
    """The files of a job's copy of the code, with the sums that they had at its submission."""

    folder: Path
    sums: dict[str, str]

    def changed_file(self) -> str:
        """The first file that is not what was submitted; "" if all are."""
        for name, digits in self.sums.items():
            with suppress(OSError):
                data = read_plain(self.folder / name, CODE_BYTES)
                if hashlib.sha256(data).hexdigest() == digits:
                    continue
            return name
        return ""


def code_of(run: Run) -> CodeFiles:
    """What a job's copy of the code had when the job was submitted, as its own list says.

    Raises JobgenError if this is not known any more.
    """
    folder = place_of(run.code, run.record)
    if not run.code:
        raise no_code(run, "it ran no copy of the code")
    if folder is None:
        raise no_code(run, f"where its copy of the code is, is not known here: {run.code}")
    try:
        text = read_plain(folder / LIST_FILE, CODE_LIST_BYTES)
    except OSError:
        raise no_code(run, f"its copy of the code is gone: {folder}") from None
    if hashlib.sha256(text).hexdigest()[:NAME_CHARACTERS] != folder.name:
        raise no_code(run, f"its copy of the code was changed: {folder / LIST_FILE}")
    return CodeFiles(folder, listed_sums(text))


def no_code(run: Run, text: str) -> JobgenError:
    """The error for a job whose code is not there any more as it was submitted."""
    commit = run.record.code.get("commit")
    get_back = f"check out its commit {commit}" if commit else "restore the files"
    hint = f"{get_back}, and make the script there again: the same code has the same name"
    return problem(run.record.job, text, "code", hint if run.code else "")
