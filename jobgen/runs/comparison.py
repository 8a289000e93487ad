"""What differs between two jobs: options, parts, versions, environment, nodes, and their code."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jobgen.bounds import CODE_LIST_BYTES
from jobgen.code_store.code_files import LIST_FILE
from jobgen.runs.records import read_plain
from jobgen.runs.runs import Run
from jobgen.runs.script_facts import place_of

_NAME_CHARACTERS = 32  # of a copy, of the 64 of its SHA-256


class Difference(NamedTuple):
    """What one job has and the other one has not, under a heading."""

    heading: str
    old: list[str]
    new: list[str]


def differences(one: Run, other: Run) -> Iterator[Difference]:
    """What differs, without the text of the code."""
    pairs = (
        ("options", _options(one.facts.words), _options(other.facts.words)),
        ("made of", _parts_but_code(one), _parts_but_code(other)),
        ("versions", _parts(one.record.versions), _parts(other.record.versions)),
        ("environment", [_environment(one)], [_environment(other)]),
        ("code", [code_name(one)], [code_name(other)]),
        ("nodes", one.record.nodes.split(), other.record.nodes.split()),
    )
    for heading, old, new in pairs:
        lost, added = _without(old, new), _without(new, old)
        if lost or added:
            yield Difference(heading, lost, added)
        elif heading == "options" and old != new:
            yield Difference("options in another order", [], [])


def code_name(run: Run) -> str:
    """The name of a job's copy of the code, with its commit; "" if it ran none."""
    code = run.record.code
    name = code.get("name") or os.path.basename(run.facts.code)
    commit = str(code.get("commit") or "")[:12]
    changed = ", changed" if code.get("differs") else ""
    return f"{name}{f' (commit {commit}{changed})' if commit else ''}" if name else ""


def _environment(run: Run) -> str:
    return os.path.basename(run.facts.environment)


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


def _parts(text: str) -> list[str]:
    return text.split(", ") if text else []


def _parts_but_code(run: Run) -> list[str]:
    """The parts of a script; its code is compared by itself."""
    return [part for part in _parts(run.facts.made_of) if not part.startswith("code ")]


def _without(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """The words that the others lack, each as often as it is missing."""
    more = Counter(words) - Counter(others)
    return [word for word in dict.fromkeys(words) if word for _ in range(more[word])]


class CodeFiles(NamedTuple):
    """The files of a copy of the code with their sums; `problem` if it cannot be compared."""

    folder: Path | None
    sums: dict[str, str]
    problem: str = ""


def code_files_of(run: Run) -> CodeFiles:
    """What a job's copy of the code had when the job was submitted, as its own list says."""
    if not run.facts.code:
        return CodeFiles(None, {}, "it ran no copy of the code")
    folder = place_of(run.facts.code, run.record)
    if folder is None:
        return CodeFiles(None, {}, f"where it is, is not known here: {run.facts.code}")
    try:
        text = read_plain(folder / LIST_FILE, CODE_LIST_BYTES)
    except OSError:
        return CodeFiles(None, {}, f"its copy of the code is gone: {folder}")
    if not hashlib.sha256(text).hexdigest().startswith(folder.name[:_NAME_CHARACTERS]):
        return CodeFiles(None, {}, f"its copy of the code was changed: {folder / LIST_FILE}")
    rows = re.findall(rb"^(?:\\?)([0-9a-f]{64})  \./(.+)$", text, re.MULTILINE)
    return CodeFiles(folder, {os.fsdecode(name): digits.decode() for digits, name in rows})


def changed_file(code: CodeFiles) -> str:
    """The first file of a copy that is not what was submitted; "" if all are."""
    assert code.folder
    for name, digits in code.sums.items():
        digest = hashlib.sha256()
        with suppress(OSError):
            with open(code.folder / name, "rb") as stream:
                while block := stream.read(1 << 19):
                    digest.update(block)
            if digest.hexdigest() == digits:
                continue
        return name
    return ""
