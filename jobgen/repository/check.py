"""`jobgen check`: says of every script whether it is current, and generates stale ones again."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jobgen.errors import USAGE, JobgenError, printable, problem, report
from jobgen.generator import Generators
from jobgen.keeper.beside import named_files
from jobgen.paths import is_outside, repository
from jobgen.repository.diff import diff_lines
from jobgen.repository.keepers import keeper_folder, write_keeper, wrong_keepers
from jobgen.repository.processes import results_in_order
from jobgen.repository.script_files import find_files, read_script, report_unreadable
from jobgen.repository.verdict import (
    CURRENT,
    EDITED,
    IMPOSSIBLE,
    STALE,
    UNKNOWN,
    Verdict,
    judge,
)
from jobgen.scripts.header import read_header
from jobgen.scripts.write import rewrite, write

FIXED, UNREADABLE, OTHER_FILES = "fixed", "unreadable", "other files"
NO_KEEPER = "keepers missing or changed"


class Outcome(NamedTuple):
    """What to do about a file: `fix` has its bytes and those to write instead."""

    states: Sequence[str]  # to count
    text: str = ""
    fix: tuple[bytes, bytes] | None = None
    manifest: str = ""  # of the script's header
    keepers: frozenset[str] = frozenset()  # the files that the script names


def check_all(paths: Sequence[str], fix: bool, force: bool) -> int:
    """Write the verdict on every script; 0 if all are current (in the end, with `fix`), else 1.

    Raises JobgenError for wrong usage; a path that cannot be read is reported, and means exit
    code 2.
    """
    if force and not fix:
        raise problem("--force", "it works only with --fix", "usage")
    generators, counts = Generators(), Counter[str]()
    keepers: dict[Path, set[str]] = {}

    def on_error(error: OSError) -> None:
        report_unreadable(error)
        counts[UNREADABLE] += 1

    def outcome_of(file: tuple[Path, str]) -> Outcome:
        return _outcome(file[0], generators, fix, force)

    for (path, real), outcome in results_in_order(outcome_of, find_files(paths, on_error)):
        try:
            counts.update(_act(path, real, outcome))
            manifest, named = _named_keepers(outcome)
            if named and (folder := keeper_folder(real, manifest)):
                keepers.setdefault(folder, set()).update(named)
        except JobgenError as error:
            report(str(error))
            counts[UNREADABLE] += 1
    counts.update(_check_keepers(keepers, fix))
    report(_summary(counts))
    if counts[UNREADABLE]:
        return USAGE
    return int(any(counts[state] for state in (EDITED, STALE, UNKNOWN, IMPOSSIBLE, NO_KEEPER)))


def _outcome(path: Path, generators: Generators, fix: bool, force: bool) -> Outcome:
    data = read_script(path)
    verdict = judge(path, data, generators) if data else None
    if not verdict:
        return Outcome([OTHER_FILES])
    may_fix = fix and bool(verdict.generated) and not verdict.is_current
    is_fixed = may_fix and (force or not verdict.loses_edit)
    text = _verdict_text(path, data, verdict, is_fixed, may_fix and not is_fixed)
    header = read_header(data)
    manifest = header.manifest if header else ""
    if is_fixed:
        keepers = named_files(verdict.generated)
        return Outcome([FIXED], text, (data, verdict.generated), manifest, keepers)
    return Outcome(verdict.states, text, None, manifest, named_files(data))


def _act(path: Path, real: str, outcome: Outcome | JobgenError) -> Sequence[str]:
    """Fix a file if that is its outcome, and write the verdict; returns what to count."""
    if isinstance(outcome, JobgenError):
        raise outcome
    if outcome.fix:
        _fix(path, real, *outcome.fix)
    if outcome.text:
        write(outcome.text)
    return outcome.states


def _named_keepers(outcome: Outcome | JobgenError) -> tuple[str, frozenset[str]]:
    """The manifest of a script, and the files that the script names."""
    if isinstance(outcome, JobgenError):
        return "", frozenset()
    return outcome.manifest, outcome.keepers


def _check_keepers(keepers: dict[Path, set[str]], fix: bool) -> Iterator[str]:
    """Write what is wrong with the files that scripts name, or write them; yields what to count."""
    for folder, names in keepers.items():
        for path, state in wrong_keepers(folder, names):
            line = f"{state}: its scripts would end at once; --fix writes it"
            if fix:
                try:
                    write_keeper(path)
                except JobgenError as error:
                    report(str(error))
                    yield UNREADABLE
                    continue
                line = f"fixed: it was {state}"
            write(f"{printable(str(path))}: {line}\n")
            yield FIXED if fix else NO_KEEPER


def _fix(path: Path, real: str, data: bytes, generated: bytes) -> None:
    if read_script(path) != data:
        raise problem(str(path), "it has changed since it was read", "edited", "check again")
    # An untrusted link may lead to a script of the user, which the user's profiles have made.
    within = repository(Path(os.path.abspath(path)).parent)
    if within and is_outside(Path(real), within):
        text = f"a link out of {within}, behind which nothing is written"
        raise problem(str(path), text, "outside", "fix the file itself")
    rewrite(path, real, generated)


def _verdict_text(
    path: Path, data: bytes, verdict: Verdict, is_fixed: bool, edit_was_kept: bool
) -> str:
    """The line about a script, and what would change in it."""
    line = f"{path}: {'fixed: it was ' if is_fixed else ''}{verdict}"
    if edit_was_kept:
        line += "; --fix --force would lose the edit"
    text = "\n".join(map(printable, line.split("\n"))) + "\n"
    if verdict.generated and not is_fixed:
        text += "".join(diff_lines(str(path), data, verdict.generated))
    return text


def _summary(counts: Counter[str]) -> str:
    states = (CURRENT, FIXED, EDITED, STALE, UNKNOWN, IMPOSSIBLE, NO_KEEPER, UNREADABLE)
    parts = [f"{counts[state]} {state}" for state in states if counts[state]]
    return f"{', '.join(parts) or 'no script'}; {counts[OTHER_FILES]} other files skipped"
