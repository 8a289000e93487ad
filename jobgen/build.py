"""Makes all scripts of a manifest: nothing is written unless all of them can be made."""

from __future__ import annotations

import io
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jobgen import manifest
from jobgen.check import compared, read, unreadable, walk
from jobgen.errors import USAGE, JobgenError, Problem, printable, problem, tell
from jobgen.header import Head, head
from jobgen.maker import Makers, project
from jobgen.manifest import Script
from jobgen.paths import leads_out, native
from jobgen.shell import visible
from jobgen.write import remove, rewrite, write

MOST_PROBLEMS = 500
MOST_BYTES = 1 << 28  # of all scripts; of very many,
MOST_A_SCRIPT = 1 << 16  # so much of each, on average; one has some 10,000 to 40,000


class Change(NamedTuple):
    """A script to be written: its path, also without links, the manifest's as in its head, and how
    many bytes."""

    path: Path
    real: str
    of: str
    size: int


@dataclass
class Made:
    """What there is to do, the scripts themselves in a file, so that memory does not grow."""

    spool: io.FileIO
    most: int  # bytes of scripts
    size: int = 0
    changes: list[Change] = field(default_factory=list)
    real: set[str] = field(default_factory=set)  # the paths of all, without links
    problems: set[Problem] = field(default_factory=set)

    @property
    def enough(self) -> bool:
        """Whether there is more to mend than anyone reads."""
        return len(self.problems) >= MOST_PROBLEMS


def build_all(file: str, prune: bool, force: bool, dry_run: bool) -> int:
    """Write the scripts of a manifest that differ from what there is; 0, or 1 after a dry run that
    found any, or 2 if some were left since they were edited meanwhile.

    With `prune`, scripts that are the manifest's by their heads, and not in it, are removed: those
    below the folders where its patterns begin. With `force`, what was edited by hand or is of
    another manifest is written, and what was edited is removed, too.

    Raises JobgenError with all that is wrong, before anything is written.
    """
    path = native(file)
    if leads_out(path, project(Path(os.path.abspath(path.parent)))):
        hint = "keep a copy: what is wrong with it would be shown"
        raise problem(str(path), "a link out of its repository", "outside", hint)
    total, scripts, folders = manifest.read(path)
    real = os.path.join(os.path.realpath(path.parent), path.name)
    with _spool() as spool:
        made = Made(spool, max(MOST_BYTES, total * MOST_A_SCRIPT))
        with _progress(total) as step:
            _make(scripts, made, real, force, step)
        if made.enough:
            tell(f"{path}: {MOST_PROBLEMS} problems are enough: no others are looked for")
        if made.problems:
            raise JobgenError(made.problems)
        gone = list(_gone(folders, made, real, force)) if prune else []
        written = _write(made, force, dry_run)
    removed = _remove(gone, force, dry_run)
    would = "to be " * dry_run
    kept = total - written
    tell(
        f"{total} scripts: {written} {would}written, {kept} as they were; {removed} {would}removed"
    )
    if written < len(made.changes) or removed < len(gone):
        return USAGE
    return int(dry_run and bool(written or removed))


def _write(made: Made, force: bool, dry_run: bool) -> int:
    """Write what has changed, but what somebody has edited since it was read; how many."""
    written = 0
    made.spool.seek(0)
    reader = io.BufferedReader(made.spool)
    for path, real, of, size in made.changes:
        data = reader.read(size)
        try:
            _differs(path, data, of, force)
        except JobgenError as error:
            tell(str(error))
            continue
        if not dry_run:
            rewrite(path, real, data)
        write(f"{printable(str(path))}: {'would be ' * dry_run}written\n")
        written += 1
    return written


def _remove(gone: Iterable[tuple[Path, str, str]], force: bool, dry_run: bool) -> int:
    """Remove scripts, but what somebody has edited since it was read; how many."""
    removed = 0
    for path, real, of in gone:
        if not _may_go(path, of, force):
            continue
        if not dry_run:
            remove(path, real)
        write(f"{printable(str(path))}: {'would be ' * dry_run}removed\n")
        removed += 1
    return removed


@lru_cache  # the scripts of a folder have the same
def _from(folder: str, manifest: str) -> str:
    """The manifest's path from a folder, as in the heads of the scripts there."""
    return visible(os.path.relpath(manifest, folder))


def _make(scripts: Iterator[Script], made: Made, manifest: str, force: bool, step: Any) -> None:
    makers = Makers()
    while not made.enough:
        try:
            script = next(scripts)
        except StopIteration:
            return
        except JobgenError as error:
            made.problems.update(error.problems)
            continue
        try:
            made.real.add(script.real)
            of = _from(os.path.dirname(script.real), manifest)
            wanted = _script(script, makers, of).encode("utf-8")
            if _differs(script.path, wanted, of, force):
                made.changes.append(Change(script.path, script.real, of, len(wanted)))
                if not made.problems:
                    _keep_for_later(wanted, made)
        except JobgenError as error:
            made.problems.update(script.placed(error))
        step(1)


def _spool() -> io.FileIO:
    try:
        return tempfile.TemporaryFile(buffering=0)  # what is left in a buffer would fail at its end
    except OSError as error:
        raise _no_room(error) from None


def _keep_for_later(script: bytes, made: Made) -> None:
    made.size += len(script)
    if made.size > made.most:
        text = f"they have more than {made.most} bytes"
        raise problem("all scripts", text, "limit", "smaller ones, or several manifests")
    try:
        while script:  # the last that fits is written in part
            script = script[made.spool.write(script) :]
    except OSError as error:
        raise _no_room(error) from None


def _no_room(error: OSError) -> JobgenError:
    text = f"the scripts cannot be kept until all are made: {error.strerror}"
    return problem("$TMPDIR", text, "output", "a folder with room for all of them")


def _script(script: Script, makers: Makers, of: str) -> str:
    maker = makers.of(script.path)
    command = script.command
    if command is None:
        command = maker.command(script.given.get("profile", "local"))
    return maker.script(script.job(command), of)


def _differs(path: Path, wanted: bytes, of: str, force: bool) -> bool:
    """Whether a file has to be written. Raises JobgenError if something would be lost."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError as error:  # such as a file where a folder is needed
        raise problem(str(path), f"cannot be written: {error.strerror}", "output") from None
    data = read(path)
    if data == wanted:
        return False
    top = head(data)
    if top is None:
        text = "there is a file of this name that jobgen has not made"
        raise problem(str(path), text, "output", "move it away")
    if not force:
        _keep(path, top, data, wanted, of)
    return True


def _keep(path: Path, top: Head, data: bytes, wanted: bytes, of: str) -> None:
    """Raises JobgenError for a script that is edited, or not this manifest's."""
    now = head(wanted)
    if top.manifest != of and not (now and now.command == top.command):
        whose = f"of {top.manifest}" if top.manifest else "of no manifest"
        text = f"there is a script of this name that is {whose}: {top.command:.80}"
        raise problem(str(path), text, "output", "move it away, or --force would lose it")
    found = compared(top, data, wanted)
    if found.loses:
        raise problem(str(path), str(found.states[0]), "edited", "--force would lose the edit")


def _gone(
    folders: Iterable[Path], made: Made, manifest: str, force: bool
) -> Iterator[tuple[Path, str, str]]:
    """The scripts that a manifest has made and that are in it no longer, with how they name it."""
    for path, real in sorted({found for folder in folders for found in walk(folder, unreadable)}):
        of = _from(os.path.dirname(real), manifest)
        if real not in made.real and _may_go(path, of, force):
            yield path, real, of


def _may_go(path: Path, of: str, force: bool) -> bool:
    """Whether a file is a script of the manifest, and nothing is lost with it."""
    try:
        top = head(read(path))
    except JobgenError as error:  # of any file: the folders may have others' too
        tell(str(error))
        return False
    if not top or top.manifest != of:
        return False
    if (top.edited or not top.said) and not force:
        tell(f"{path}: not removed, since it may be edited; --force would")
        return False
    return True


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """What counts the scripts: a bar on stderr, where that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    import click

    with click.progressbar(length=total, file=sys.stderr, label="scripts") as bar:
        yield bar.update
