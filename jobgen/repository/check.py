"""`jobgen check`: reports whether each script is current, and generates stale scripts again."""

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from jobgen.errors import USAGE, JobgenError, printable, problem, report, report_lines
from jobgen.generator import Generator, Generators
from jobgen.paths import is_file, is_outside, repository, to_path
from jobgen.planning.parser import parse_command
from jobgen.quoting import quote, split_words
from jobgen.repository.diff import diff_lines
from jobgen.repository.files import (
    find_files,
    keepers_of,
    read_script,
    report_unreadable,
    write_keeper,
    wrong_keepers,
)
from jobgen.scripts.header import FIRST_VERSION, Header, read_header
from jobgen.scripts.write import rewrite, write

CURRENT = "current"
EDITED = "edited by hand"
STALE = "stale"
UNKNOWN = "stale, or edited by hand"
IMPOSSIBLE = "no longer possible"
UNTRUSTED = "not checked"
NO_CHECKSUM = "it has no checksum, like the scripts of older versions"
FIXED, UNREADABLE, OTHER_FILES = "fixed", "unreadable", "other files"
NO_KEEPER = "keepers missing or changed"


@dataclass(frozen=True)
class Verdict:
    """The states of a script and the reason; `generated` is the text that its command makes now."""

    states: tuple[str, ...]
    reason: str = ""
    generated: bytes = b""

    @property
    def is_current(self) -> bool:
        return self.states == (CURRENT,)

    @property
    def loses_edit(self) -> bool:
        """Whether generating the script again would lose an edit."""
        return EDITED in self.states or UNKNOWN in self.states

    def __str__(self) -> str:
        states = ", and ".join(self.states)
        return f"{states}: {self.reason}" if self.reason else states


def check_all(paths: Sequence[str], fix: bool, force: bool, trust: bool = False) -> int:
    """Write the verdict on every script; returns the exit code.

    It is 0 if all scripts are current, also after `fix`; else 1; 2 if a path cannot be read or a
    script is not checked. `trust` allows rendering templates of a repository. Raises JobgenError
    for wrong usage.
    """
    if force and not fix:
        raise problem("--force", "it works only with --fix", "usage")
    generators, counts = Generators(trust), Counter[str]()
    keepers: dict[Path, None] = {}  # a set in the order of the scripts

    def on_error(error: OSError) -> None:
        report_unreadable(error)
        counts[UNREADABLE] += 1

    for path, real in find_files(paths, on_error):
        try:
            states, named = _check(path, real, generators, fix, force)
            counts.update(states)
            keepers.update(dict.fromkeys(named))
        except JobgenError as error:
            report(str(error))
            counts[UNREADABLE] += 1
    counts.update(_check_keepers(keepers, fix))
    _report_summary(counts, paths)
    if counts[UNREADABLE] or counts[UNTRUSTED]:
        return USAGE
    return int(any(counts[state] for state in (EDITED, STALE, UNKNOWN, IMPOSSIBLE, NO_KEEPER)))


def _check(
    path: Path, real: str, generators: Generators, fix: bool, force: bool
) -> tuple[Sequence[str], Sequence[Path]]:
    """Write the verdict on a file; returns its states, and the keepers that the file names."""
    data = read_script(path)
    header = read_header(data)
    if header is None:
        return [OTHER_FILES], []
    verdict = judge(path, header, generators)
    may_fix = fix and bool(verdict.generated) and not verdict.is_current
    is_fixed = may_fix and (force or not verdict.loses_edit)
    if is_fixed:
        report_lines(generators.of(path).keep_codes())
        _fix(path, real, data, verdict.generated)
    write(_verdict_text(path, data, verdict, is_fixed, may_fix and not is_fixed))
    named = keepers_of(real, header.manifest, verdict.generated if is_fixed else data)
    return [FIXED] if is_fixed else verdict.states, named


def _check_keepers(keepers: Iterable[Path], fix: bool) -> Iterator[str]:
    """Report keepers that are missing or changed; `fix` writes them. Yields a state for each."""
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
    # An untrusted repository may have a link to a script of the user elsewhere.
    within = repository(Path(os.path.abspath(path)).parent)
    if within and is_outside(Path(real), within):
        text = f"a link out of {within}, behind which nothing is written"
        raise problem(str(path), text, "outside", "fix the file itself")
    rewrite(path, real, generated)


def _verdict_text(
    path: Path, data: bytes, verdict: Verdict, is_fixed: bool, edit_was_kept: bool
) -> str:
    """The line with the verdict on a script, and the diff to the script that is generated now."""
    line = f"{path}: {'fixed: it was ' if is_fixed else ''}{verdict}"
    if edit_was_kept:
        line += "; --fix --force would lose the edit"
    text = "\n".join(map(printable, line.split("\n"))) + "\n"
    if verdict.generated and not is_fixed:
        text += "".join(diff_lines(str(path), data, verdict.generated))
    return text


def _report_summary(counts: Counter[str], paths: Sequence[str]) -> None:
    """Report the number of scripts in each state, and a command for a file that is no script."""
    states = (CURRENT, FIXED, EDITED, STALE, UNKNOWN, IMPOSSIBLE, UNTRUSTED, NO_KEEPER, UNREADABLE)
    parts = [f"{counts[state]} {state}" for state in states if counts[state]]
    report(f"{', '.join(parts) or 'no script'}; {counts[OTHER_FILES]} other files skipped")
    if counts[EDITED] or counts[UNKNOWN]:
        report(
            "to drop an edit: jobgen check --fix --force FILE; to keep what it does, first put the"
            " option for it into the command in the script's header, or into its manifest"
        )
    if counts == {OTHER_FILES: 1} and [*map(is_file, map(to_path, paths))] == [True]:
        words = "build --dry-run" if paths[0].endswith((".yaml", ".yml")) else "lint"
        report(f"no script of jobgen; for a file like this: jobgen {words} {quote(paths[0])}")


def judge(path: Path, header: Header, generators: Generators) -> Verdict:
    """The verdict on the script at a path that has the given header."""
    try:
        generated = _generate_again(header, generators.of(path))
    except JobgenError as error:
        edited = (EDITED,) if header.is_edited else ()
        is_untrusted = any(each.code == "untrusted" for each in error.problems)
        state = UNTRUSTED if is_untrusted else IMPOSSIBLE
        return Verdict((*edited, state), str(error).replace("\n", "\n  "))
    return compare(header, generated)


def _generate_again(header: Header, generator: Generator) -> bytes:
    """The script that the command in a header makes; the command never runs in a shell."""
    try:
        words = split_words(header.command)
    except ValueError as error:
        raise problem("the command in its header", str(error), "usage") from None
    return generator.script_bytes(parse_command(words[1:]), header.manifest)


def compare(header: Header, generated: bytes) -> Verdict:
    """The verdict on a script with a header, whose command makes the script `generated` now."""
    new = read_header(generated)
    same_body = new is not None and header.body == new.body and header.manifest == new.manifest
    if same_body and new and header.checksum == new.checksum:
        return Verdict((CURRENT,))
    if not header.checksum:
        state = STALE if same_body else UNKNOWN  # only the checksum may be missing
        return Verdict((state,), NO_CHECKSUM, generated)
    if header.is_edited and new and (same_body or header.checksum == new.checksum):
        return Verdict((EDITED,), "", generated)
    reason = _changes(header, new)
    if header.is_edited:
        why = f"its command was edited, or {reason}" if reason else "its command was edited"
        return Verdict((EDITED, STALE), why, generated)
    return Verdict((STALE,), reason or "jobgen changed", generated)


def _changes(old: Header, new: Header | None) -> str:
    """The changes since a script was made, in words: profile, template, …; "" without any."""
    new_parts = new.parts if new else {}
    if not old.parts:
        made_by = f"it was made by jobgen {FIRST_VERSION}"
        if "machinery" in new_parts:  # scripts of the first version have no such part
            return f"the machinery changed, and perhaps more; {made_by}"
        return f"{made_by}, whose scripts were different"
    changed = [
        name
        for name in ("profile", "template", "trainer", "code", "environment", "machinery")
        if old.parts.get(name) != new_parts.get(name)
    ]
    sentences = [f"the {' and the '.join(changed)} changed"] if changed else []
    versions = old.parts.get("jobgen"), new_parts.get("jobgen")
    if versions[0] != versions[1]:
        sentences.append(f"it was made by jobgen {versions[0]}")
    if old.manifest != (new.manifest if new else ""):
        sentences.append("it belongs to a different manifest")
    return "; ".join(sentences)
