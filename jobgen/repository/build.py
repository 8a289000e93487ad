"""`jobgen build`: makes all scripts of a manifest; none is written unless all can be made."""

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

from jobgen.errors import USAGE, JobgenError, Problem, printable, problem, report
from jobgen.generator import Generators
from jobgen.keeper.beside import named_files
from jobgen.limits import BUILD_BYTES, BUILD_BYTES_EACH, PROBLEMS_KEPT
from jobgen.paths import is_outside, repository_or_folder, to_path
from jobgen.quoting import escape_unseen
from jobgen.repository.keepers import prune_keepers, write_keepers
from jobgen.repository.manifest import read_manifest
from jobgen.repository.matrix import Script
from jobgen.repository.processes import results_in_order
from jobgen.repository.script_files import files_below, read_script, report_unreadable
from jobgen.repository.verdict import compare
from jobgen.scripts.header import Header, read_header
from jobgen.scripts.write import remove, rewrite, write


class Change(NamedTuple):
    """A script to write; `manifest` is the manifest's path in its header, `size` in bytes."""

    path: Path
    real: str  # the path without links
    manifest: str
    size: int


class Made(NamedTuple):
    """A script that can be made; `data` is empty if the file has these bytes."""

    manifest: str
    data: bytes
    keepers: frozenset[str]


@dataclass
class Build:
    """What there is to do; the scripts themselves are in a file, so that memory does not grow."""

    scripts: io.FileIO
    most_bytes: int
    size: int = 0
    changes: list[Change] = field(default_factory=list)
    real_paths: set[str] = field(default_factory=set)
    keepers: set[str] = field(default_factory=set)  # the files that the scripts name
    problems: set[Problem] = field(default_factory=set)

    @property
    def has_too_many_problems(self) -> bool:
        """Whether the problem limit was reached."""
        return len(self.problems) >= PROBLEMS_KEPT


def build_all(file: str, prune: bool, force: bool, dry_run: bool) -> int:
    """Write the scripts of a manifest that differ from the files.

    Returns 0; 1 after a dry run that found changes; 2 if a script was not written since it was
    edited meanwhile. With `prune`, scripts that are the manifest's by their headers, and not in it
    any more, are removed: those below the folders in which its patterns begin. With `force`,
    edited scripts and those of other manifests are replaced, and edited ones removed, too.

    Raises JobgenError with all problems, before anything is written.
    """
    path = to_path(file)
    if is_outside(path, repository_or_folder(Path(os.path.abspath(path.parent)))):
        hint = "copy it into the repository: error messages would quote a file outside it"
        raise problem(str(path), "a link out of its repository", "outside", hint)
    total, scripts, folders = read_manifest(path)
    manifest = os.path.join(os.path.realpath(path.parent), path.name)
    with _temporary_file() as temporary:
        build = Build(temporary, max(BUILD_BYTES, total * BUILD_BYTES_EACH))
        with _progress_bar(total) as advance:
            _make_scripts(scripts, build, manifest, force, advance)
        if build.has_too_many_problems:
            report(f"{path}: {PROBLEMS_KEPT} problems: no others were searched for")
        if build.problems:
            raise JobgenError(build.problems)
        obsolete = list(_obsolete(folders, build, manifest, force)) if prune else []
        changed = write_keepers(path.parent, build.keepers, dry_run)  # before what names them
        written = _write_changes(build, force, dry_run)
    removed = _remove_obsolete(obsolete, force, dry_run)
    if prune:
        going = {real for _, real, _ in obsolete}
        changed |= prune_keepers(path.parent, build.keepers, folders, going, dry_run)
    verb, same = "to be " * dry_run, total - written
    report(f"{total} scripts: {written} {verb}written, {same} unchanged; {removed} {verb}removed")
    if written < len(build.changes) or removed < len(obsolete):
        return USAGE
    return int(dry_run and bool(written or removed or changed))


def _make_scripts(
    scripts: Iterator[Script], build: Build, manifest: str, force: bool, advance: Any
) -> None:
    generators = Generators()

    def made(script: Script | JobgenError) -> Made:
        if isinstance(script, JobgenError):
            raise script
        return _made(script, generators, manifest, force)

    for script, result in results_in_order(made, _each_or_error(scripts)):
        if not isinstance(script, Script):
            build.problems.update(script.problems)
        else:
            _note_result(script, result, build)
            advance(1)
        if build.has_too_many_problems:
            return


def _each_or_error(scripts: Iterator[Script]) -> Iterator[Script | JobgenError]:
    """The scripts, and the errors of those that cannot be planned."""
    while True:
        try:
            yield next(scripts)
        except StopIteration:
            return
        except JobgenError as error:
            yield error


def _made(script: Script, generators: Generators, manifest: str, force: bool) -> Made:
    name = _manifest_path(os.path.dirname(script.real), manifest)
    data = _generate(script, generators, name)
    keepers = named_files(data)
    return Made(name, data if _must_write(script.path, data, name, force) else b"", keepers)


def _note_result(script: Script, result: Made | JobgenError, build: Build) -> None:
    """Keep a script that must be written, or the problems of one that cannot be made."""
    build.real_paths.add(script.real)
    try:
        if isinstance(result, JobgenError):
            raise result
        name, generated, keepers = result
        build.keepers |= keepers
        if generated:
            build.changes.append(Change(script.path, script.real, name, len(generated)))
            if not build.problems:
                _keep(generated, build)
    except JobgenError as error:
        build.problems.update(script.with_places(error))


@lru_cache  # the scripts of a folder have the same
def _manifest_path(folder: str, manifest: str) -> str:
    """The manifest's path from a folder, as in the headers of the scripts there."""
    return escape_unseen(os.path.relpath(manifest, folder))


def _generate(script: Script, generators: Generators, manifest: str) -> bytes:
    generator = generators.of(script.path)
    command = script.command
    if command is None:
        command = generator.command(script.fields.get("profile", "local"))
    return generator.script_bytes(script.job(command), manifest)


def _temporary_file() -> io.FileIO:
    try:
        return tempfile.TemporaryFile(buffering=0)  # a buffer would fail only when it is closed
    except OSError as error:
        raise _no_room(error) from None


def _keep(script: bytes, build: Build) -> None:
    """Keep a script until all are made."""
    build.size += len(script)
    if build.size > build.most_bytes:
        text = f"more than {build.most_bytes} bytes"
        raise problem("all scripts", text, "limit", "smaller ones, or several manifests")
    try:
        while script:  # on a full disk, the last write takes only a part
            script = script[build.scripts.write(script) :]
    except OSError as error:
        raise _no_room(error) from None


def _no_room(error: OSError) -> JobgenError:
    text = f"the scripts cannot be kept until all are made: {error.strerror}"
    return problem("$TMPDIR", text, "output", "a folder with room for all of them")


def _must_write(path: Path, generated: bytes, manifest: str, force: bool) -> bool:
    """Whether a file differs from `generated`. Raises JobgenError if something would be lost."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return True
    except OSError as error:  # for example, a file in the place of a folder
        raise problem(str(path), f"cannot be written: {error.strerror}", "output") from None
    data = read_script(path)
    header = read_header(data)
    if header is None:
        text = "there is a file of this name that jobgen has not made"
        raise problem(str(path), text, "output", "move it away")
    verdict = compare(header, generated)
    if verdict.is_current:
        return False
    if not force:
        _check_owner(path, header, generated, manifest)
        if verdict.loses_edit:
            text = str(verdict.states[0])
            raise problem(str(path), text, "edited", "--force would lose the edit")
    return True


def _check_owner(path: Path, header: Header, generated: bytes, manifest: str) -> None:
    """Raise JobgenError for a script that does not belong to the manifest."""
    new = read_header(generated)
    same_command = new is not None and new.command == header.command
    if header.manifest != manifest and not same_command:
        owner = f"of {header.manifest}" if header.manifest else "of no manifest"
        text = f"there is a script of this name that is {owner}: {header.command:.80}"
        raise problem(str(path), text, "output", "move it away, or --force would lose it")


def _write_changes(build: Build, force: bool, dry_run: bool) -> int:
    """Write the changed scripts, except those edited meanwhile; returns their number."""
    written = 0
    build.scripts.seek(0)
    reader = io.BufferedReader(build.scripts)
    for path, real, manifest, size in build.changes:
        data = reader.read(size)
        try:
            _must_write(path, data, manifest, force)
        except JobgenError as error:
            report(str(error))
            continue
        if not dry_run:
            rewrite(path, real, data)
        write(f"{printable(str(path))}: {'would be ' * dry_run}written\n")
        written += 1
    return written


def _obsolete(
    folders: Iterable[Path], build: Build, manifest: str, force: bool
) -> Iterator[tuple[Path, str, str]]:
    """Scripts of the manifest that are not in it any more: path, real path, manifest's path."""
    files = {file for folder in folders for file in files_below(folder, report_unreadable)}
    for path, real in sorted(files):
        name = _manifest_path(os.path.dirname(real), manifest)
        if real not in build.real_paths and _may_remove(path, name, force):
            yield path, real, name


def _remove_obsolete(scripts: Iterable[tuple[Path, str, str]], force: bool, dry_run: bool) -> int:
    """Remove scripts, except those edited meanwhile; returns their number."""
    removed = 0
    for path, real, manifest in scripts:
        if not _may_remove(path, manifest, force):
            continue
        if not dry_run:
            remove(path, real)
        write(f"{printable(str(path))}: {'would be ' * dry_run}removed\n")
        removed += 1
    return removed


def _may_remove(path: Path, manifest: str, force: bool) -> bool:
    """Whether a file is a script of the manifest, and no edit is lost with it."""
    try:
        header = read_header(read_script(path))
    except JobgenError as error:  # the folders may have other files, too
        report(str(error))
        return False
    if not header or header.manifest != manifest:
        return False
    if (header.is_edited or not header.checksum) and not force:
        report(f"{path}: not removed, since it may be edited; --force would")
        return False
    return True


@contextmanager
def _progress_bar(total: int) -> Iterator[Any]:
    """Counts the scripts: a bar on stderr, if that is a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    import click

    with click.progressbar(length=total, file=sys.stderr, label="scripts") as bar:
        yield bar.update
