"""Makes all scripts of a manifest: nothing is written unless all of them can be made."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from jobgen import manifest
from jobgen.check import compared, read
from jobgen.errors import JobgenError, Mark, Problem, problem, tell
from jobgen.header import head
from jobgen.maker import Makers
from jobgen.manifest import Script
from jobgen.paths import native
from jobgen.schedulers import COMMANDS
from jobgen.shell import visible
from jobgen.write import remove, rewrite, write

MOST_PROBLEMS = 50  # of a matrix, all scripts may have the same


@dataclass
class Made:
    """What there is to do, the scripts themselves in a file, so that memory does not grow."""

    spool: IO[bytes]
    changed: list[tuple[Path, int]] = field(default_factory=list)  # a path, and its bytes
    paths: set[str] = field(default_factory=set)
    problems: set[Problem] = field(default_factory=set)


def build_all(file: str, prune: bool, force: bool, dry_run: bool) -> int:
    """Write the scripts of a manifest that differ from what there is; 0, or 1 after a dry run that
    found any.

    With `prune`, scripts beside them that are the manifest's by their heads, and not in it, are
    removed. With `force`, what was edited by hand is written and removed, too.

    Raises JobgenError with all that is wrong, before anything is written.
    """
    total, scripts = manifest.read(native(file))
    with tempfile.TemporaryFile() as spool:
        made = Made(spool)
        with _progress(total) as step:
            _make(scripts, made, native(file), force, step)
        if made.problems:
            raise JobgenError(_most(made.problems))
        gone = list(_gone(made, native(file), force)) if prune else []
        spool.seek(0)
        for path, size in made.changed:
            data = spool.read(size)
            if not dry_run:
                rewrite(path, data)
            write(f"{path}: {'would be ' * dry_run}written\n")
    for path in gone:
        if not dry_run:
            remove(path)
        write(f"{path}: {'would be ' * dry_run}removed\n")
    count = len(made.changed)
    would = "to be " * dry_run
    kept = total - count
    tell(
        f"{total} scripts: {count} {would}written, {kept} as they were; {len(gone)} {would}removed"
    )
    return int(dry_run and bool(made.changed or gone))


@lru_cache  # the scripts of a folder have the same
def _from(folder: Path, manifest: Path) -> str:
    """The manifest's path from a folder, as in the heads of the scripts there."""
    return visible(os.path.relpath(manifest, folder))


def _make(scripts: Iterator[Script], made: Made, file: Path, force: bool, step: Any) -> None:
    makers = Makers()
    while True:
        try:
            script = next(scripts)
        except StopIteration:
            return
        except JobgenError as error:
            made.problems.update(error.problems)
            continue
        try:
            made.paths.add(os.path.normpath(script.path))
            of = _from(script.path.parent, file)
            wanted = _script(script, makers, of).encode("utf-8")
            if not made.problems and _differs(script.path, wanted, force):
                made.spool.write(wanted)
                made.changed.append((script.path, len(wanted)))
        except JobgenError as error:
            made.problems.update(script.placed(error))
        step(1)


def _script(script: Script, makers: Makers, of: str) -> str:
    maker = makers.of(script.path)
    command = script.command
    if command is None:
        name = script.given.get("profile", "local")
        command = COMMANDS[maker.profiles.load(name).profile.scheduler or "local"]
    return maker.script(script.job(command), of)


def _differs(path: Path, wanted: bytes, force: bool) -> bool:
    """Whether a file has to be written. Raises JobgenError if something would be lost."""
    if not os.path.lexists(path):
        return True
    data = read(path)
    if data == wanted:
        return False
    top = head(data)
    if top is None:
        text = "there is a file of this name that jobgen has not made"
        raise problem(str(path), text, "output", "move it away")
    found = compared(top, data, wanted)
    if found.loses and not force:
        raise problem(str(path), str(found.states[0]), "edited", "--force would lose the edit")
    return True


def _gone(made: Made, file: Path, force: bool) -> Iterator[Path]:
    """The scripts that a manifest has made in its folders and that are in it no longer."""
    for folder in sorted({os.path.dirname(path) for path in made.paths}):
        names = sorted(os.listdir(folder or ".")) if os.path.isdir(folder or ".") else []
        for path in (Path(folder, name) for name in names):
            if str(path) in made.paths or not path.is_file() or path.is_symlink():
                continue
            top = head(read(path))
            if not top or top.manifest != _from(path.parent, file):
                continue
            if (top.edited or not top.said) and not force:
                tell(f"{path}: not removed, since it may be edited; --force would")
            else:
                yield path


def _most(problems: Iterable[Problem]) -> list[Problem]:
    first = sorted(problems)
    if (more := len(first) - MOST_PROBLEMS) > 0:
        del first[MOST_PROBLEMS:]
        first.append(Problem(Mark("~"), f"and {more} more problems", "more"))
    return first


@contextmanager
def _progress(total: int) -> Iterator[Any]:
    """What counts the scripts: a bar on stderr, where that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    import click

    with click.progressbar(length=total, file=sys.stderr, label="scripts") as bar:
        yield bar.update
