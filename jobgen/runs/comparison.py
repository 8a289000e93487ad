"""What differs between two jobs: options, parts, versions, environment, nodes, and their code."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence

from jobgen.code_store.code_files import LIST_FILE
from jobgen.errors import problem
from jobgen.runs.inputs import code_folder
from jobgen.runs.runs import Run


def differences(one: Run, other: Run) -> Iterator[tuple[str, list[str]]]:
    """What differs, without the text of the code: headings, each with lines."""
    unknown = [each for each in (one, other) if each.facts.missing]
    if lines := [f"  not known of job {each.record.job}: {each.facts.missing}" for each in unknown]:
        yield "options, environment", lines
    old, new = _compared(one), _compared(other)
    for heading in [name for name in new if name in old]:
        before, after = dict.fromkeys(old[heading]), dict.fromkeys(new[heading])
        lost = [f"- {each}" for each in before if each not in after]
        added = [f"+ {each}" for each in after if each not in before]
        if old[heading] != new[heading]:
            yield heading, [*lost, *added] or ["  in another order"]


def _compared(run: Run) -> dict[str, list[str]]:
    """What is compared of a job, by headings; without its script, only what its record has."""
    record, facts = run.record, run.facts
    of_script = {
        "options": _options(facts.words),
        "made of": [each for each in _parts(facts.made_of) if not each.startswith("code ")],
        "environment": _parts(os.path.basename(facts.environment)),
    }
    return {
        **({} if facts.missing else of_script),
        "versions": _parts(record.versions),
        "nodes": record.nodes.split(),
        "code": [*filter(None, [code_name(run)])],
    }


def _parts(text: str) -> list[str]:
    return text.split(", ") if text else []


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


def code_changes(one: Run, other: Run) -> Iterator[str]:
    """What `diff` says of the copies of the code of two jobs. Raises JobgenError."""
    folders = [str(code_folder(run)) for run in (one, other)]
    words = ("diff", "-ru", "--no-dereference", f"--exclude={LIST_FILE}", *folders)
    try:
        text = os.fsdecode(subprocess.run(words, capture_output=True, check=False).stdout)
    except FileNotFoundError:
        raise problem(one.record.job, "there is no `diff` here", "code") from None
    for folder, run in zip(folders, (one, other), strict=True):
        text = text.replace(folder, f"job {run.record.job}")
    for line in text.split("\n"):
        if line.startswith(("--- job ", "+++ job ")):
            line = line.partition("\t")[0]  # without the times of copies
        if line and not line.startswith("diff "):
            yield line
