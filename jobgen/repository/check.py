"""`jobgen check`: says of every script whether it is current, and generates stale ones again."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jobgen.errors import USAGE, JobgenError, printable, problem, report
from jobgen.generator import Generators
from jobgen.paths import is_file, is_outside, repository, to_path
from jobgen.quoting import quote
from jobgen.repository.compare import (
    CURRENT,
    EDITED,
    IMPOSSIBLE,
    STALE,
    UNKNOWN,
    UNTRUSTED,
    Verdict,
    judge,
)
from jobgen.repository.diff import diff_lines
from jobgen.repository.files import (
    find_files,
    keepers_of,
    read_script,
    report_unreadable,
    write_keeper,
    wrong_keepers,
)
from jobgen.repository.processes import results_in_order
from jobgen.scripts.header import read_header
from jobgen.scripts.write import rewrite, write

FIXED, UNREADABLE, OTHER_FILES = "fixed", "unreadable", "other files"
NO_KEEPER = "keepers missing or changed"


class Outcome(NamedTuple):
    """What to do about a file: `fix` has its bytes and those to write instead."""

    states: Sequence[str]  # to count
    text: str = ""
    fix: tuple[bytes, bytes] | None = None
    keepers: Sequence[Path] = ()  # the files that the script names


def check_all(paths: Sequence[str], fix: bool, force: bool, trust: bool = False) -> int:
    """Write the verdict on every script; 0 if all are current (in the end, with `fix`), else 1.

    With `trust`, templates of any repository are rendered. Raises JobgenError for wrong usage; a
    path that cannot be read is reported, and means exit code 2, as does a script that is not
    checked.
    """
    if force and not fix:
        raise problem("--force", "it works only with --fix", "usage")
    generators, counts = Generators(trust), Counter[str]()
    keepers: dict[Path, None] = {}  # in their order

    def on_error(error: OSError) -> None:
        report_unreadable(error)
        counts[UNREADABLE] += 1

    def outcome_of(file: tuple[Path, str]) -> Outcome:
        return _outcome(*file, generators, fix, force)

    for (path, real), outcome in results_in_order(outcome_of, find_files(paths, on_error)):
        try:
            if isinstance(outcome, JobgenError):
                raise outcome
            if outcome.fix:
                _fix(path, real, *outcome.fix)
            if outcome.text:
                write(outcome.text)
            counts.update(outcome.states)
            keepers.update(dict.fromkeys(outcome.keepers))
        except JobgenError as error:
            report(str(error))
            counts[UNREADABLE] += 1
    counts.update(_check_keepers(keepers, fix))
    _report_summary(counts, paths)
    if counts[UNREADABLE] or counts[UNTRUSTED]:
        return USAGE
    return int(any(counts[state] for state in (EDITED, STALE, UNKNOWN, IMPOSSIBLE, NO_KEEPER)))


def _outcome(path: Path, real: str, generators: Generators, fix: bool, force: bool) -> Outcome:
    data = read_script(path)
    header = read_header(data)
    if header is None:
        return Outcome([OTHER_FILES])
    verdict = judge(path, header, generators)
    may_fix = fix and bool(verdict.generated) and not verdict.is_current
    is_fixed = may_fix and (force or not verdict.loses_edit)
    text = _verdict_text(path, data, verdict, is_fixed, may_fix and not is_fixed)
    if is_fixed:
        keepers = keepers_of(real, header.manifest, verdict.generated)
        return Outcome([FIXED], text, (data, verdict.generated), keepers)
    return Outcome(verdict.states, text, None, keepers_of(real, header.manifest, data))


def _check_keepers(keepers: Iterable[Path], fix: bool) -> Iterator[str]:
    """Write what is wrong with the files that scripts name, or write them; yields what to count."""
    for path, state in wrong_keepers(keepers):
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


def _report_summary(counts: Counter[str], paths: Sequence[str]) -> None:
    """Report how many scripts are in which state; of one other file, also what is for it."""
    states = (CURRENT, FIXED, EDITED, STALE, UNKNOWN, IMPOSSIBLE, UNTRUSTED, NO_KEEPER, UNREADABLE)
    parts = [f"{counts[state]} {state}" for state in states if counts[state]]
    report(f"{', '.join(parts) or 'no script'}; {counts[OTHER_FILES]} other files skipped")
    if counts[EDITED] or counts[UNKNOWN]:
        hint = (
            "to drop an edit: jobgen check --fix --force FILE; to keep what it does, first put the"
        )
        report(
            f"{hint} option for it into the command in the script's header, or into its manifest"
        )
    if counts == {OTHER_FILES: 1} and [*map(is_file, map(to_path, paths))] == [True]:
        words = "build --dry-run" if paths[0].endswith((".yaml", ".yml")) else "lint"
        report(f"no script of jobgen; for a file like this: jobgen {words} {quote(paths[0])}")
