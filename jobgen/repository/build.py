"""`jobgen build`: makes all scripts of a manifest; none is written unless all can be made."""

import os
import sys
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from jobgen.bounds import BUILD_BYTES, BUILD_BYTES_EACH, PROBLEMS_KEPT, PROBLEMS_SHOWN
from jobgen.errors import USAGE, JobgenError, Problem, counted, problem, report, report_lines
from jobgen.generator import Generator, Generators
from jobgen.keeper.carried import named_files
from jobgen.paths import is_outside, repository_or_folder, to_path
from jobgen.planning.plan import Plan
from jobgen.quoting import escape_unseen
from jobgen.repository.check import compare
from jobgen.repository.files import (
    change_file,
    files_below,
    prune_keepers,
    read_script,
    report_unreadable,
    write_keepers,
)
from jobgen.repository.manifest import read_manifest
from jobgen.repository.matrix import Script
from jobgen.scripts.header import Header, read_header

# Is told of each script that was made, and by what.
Note = Callable[[Script, Plan, bytes, Generator], None]


class BuildOptions(NamedTuple):
    """What `build_all` may do.

    `prune` removes scripts whose headers name the manifest, but which the manifest no longer has;
    it searches the folders in which the manifest's patterns begin. `force` replaces edited scripts
    and those of other manifests, and lets `prune` remove edited scripts. `trust` allows rendering
    templates of the repository. `host` is that of the jobs that name none.
    """

    prune: bool = False
    force: bool = False
    dry_run: bool = False
    trust: bool = False
    host: str = ""


@dataclass
class Build:
    """One run of `jobgen build` with its results; `manifest` is a path without links."""

    manifest: str
    options: BuildOptions
    generators: defaultdict[str, Generators]  # by host: the code of its jobs is kept there
    most_bytes: int
    note: Note | None = None
    size: int = 0
    # For each script to write: its path, the path without links, and its compressed text.
    changes: list[tuple[Path, str, bytes]] = field(default_factory=list)
    real_paths: set[str] = field(default_factory=set)
    keepers: set[str] = field(default_factory=set)
    problems: set[Problem] = field(default_factory=set)
    warnings: set[Problem] = field(default_factory=set)

    def manifest_from(self, script: str) -> str:
        """The manifest's path in the header of a script; `script` is a path without links."""
        return escape_unseen(os.path.relpath(self.manifest, os.path.dirname(script)))

    def make(self, script: Script) -> None:
        """Make a script, and note its text for writing if the file differs.

        Raises JobgenError if the script cannot be made, or if writing it would lose other work.
        """
        self.real_paths.add(script.real)
        script = replace(script, host=script.host or self.options.host)
        generator = self.generators[script.host].of(script.path)
        command = script.command
        if command is None and "profile" not in script.fields:
            hint = (
                "write `profile: NAME`, here or below `defaults:`; `command: local`: this machine"
            )
            raise problem(script.tree.mark, f"{script.label} has no `profile`", "usage", hint)
        if command is None:
            command = generator.command(script.fields["profile"])
        job = script.job(command)
        data = generator.script_bytes(job, self.manifest_from(script.real))
        is_changed = self.must_write(script.path, script.real, data)
        self.keepers |= named_files(data)
        if self.note:
            self.note(script, generator.plan(job), data, generator)
        if not is_changed:
            return
        advice = generator.advice(job, generator.plan(job))
        self.warnings.update(script.with_places(advice))
        self.changes.append((script.path, script.real, zlib.compress(data, 1)))
        self.size += len(data)
        if self.size > self.most_bytes and not self.problems:
            text = f"more than {self.most_bytes} bytes"
            raise problem("all scripts", text, "limit", "smaller ones, or several manifests")

    def must_write(self, path: Path, real: str, data: bytes) -> bool:
        """Whether to write a script's file. Raises JobgenError if that would lose other work."""
        try:
            os.lstat(path)
        except FileNotFoundError:
            return True
        except OSError as error:  # for example, a file in the place of a folder
            raise problem(str(path), f"cannot be written: {error.strerror}", "output") from None
        header = read_header(read_script(path))
        if header is None:
            text = "there is a file of this name that jobgen has not made"
            raise problem(str(path), text, "output", "move it away")
        verdict = compare(header, data)
        if not verdict.is_current and not self.options.force:
            _check_owner(path, header, data, self.manifest_from(real))
            if verdict.loses_edit:
                text = str(verdict.states[0])
                raise problem(str(path), text, "edited", "--force would lose the edit")
        return not verdict.is_current

    def is_obsolete(self, path: Path, real: str) -> bool:
        """Whether a file is a former script of the manifest, and no edit is lost with it.

        If it is not, the keepers that the file names are noted as still needed.
        """
        if real in self.real_paths:
            return False
        try:
            data = read_script(path)
        except JobgenError as error:  # the file cannot be read: folders may have any files
            report(str(error))
            return False
        header = read_header(data)
        if header and header.manifest == self.manifest_from(real):
            if self.options.force or (header.checksum and not header.is_edited):
                return True
            report(f"{path}: not removed, since it may be edited; --force would")
        self.keepers |= named_files(data)
        return False


def build_all(
    file: str,
    options: BuildOptions,
    note: Note | None = None,
    check: Callable[[], object] = lambda: None,
) -> int:
    """Write the scripts of a manifest that differ from their files.

    Returns 0; 1 after a dry run that found changes; 2 if a script was edited during the run and
    therefore not written. `note` is told of each script; `check` is called after that. Raises
    JobgenError with all problems before anything is written.
    """
    path = _manifest_path(file)
    total, scripts, folders = read_manifest(path)
    manifest = os.path.join(os.path.realpath(path.parent), path.name)
    most_bytes = max(BUILD_BYTES, total * BUILD_BYTES_EACH)
    generators = defaultdict[str, Generators](lambda: Generators(options.trust))
    build = Build(manifest, options, generators, most_bytes, note)
    dry_run = options.dry_run
    _make_scripts(scripts, total, build)
    _report_problems(build, path)
    check()
    if not dry_run:
        # Copies, as keepers, come before the scripts that need them.
        report_lines(build.generators[""].keep_codes())
    changed = write_keepers(path.parent, build.keepers, dry_run)
    written = _write_changes(build)
    removed = _remove_obsolete(folders, build) if options.prune else 0
    if options.prune:
        changed |= prune_keepers(path.parent, build.keepers, dry_run)
    verb, same = "to be " * dry_run, total - written
    counts = f"{written} {verb}written, {same} unchanged; {removed} {verb}removed"
    report(f"{counted(total, 'script')}: {counts}")
    if written < len(build.changes):
        return USAGE
    return int(dry_run and bool(written or removed or changed))


def _manifest_path(file: str) -> Path:
    path = to_path(file)
    if is_outside(path, repository_or_folder(Path(os.path.abspath(path.parent)))):
        hint = "copy it into the repository: error messages would quote a file outside it"
        raise problem(str(path), "a link out of its repository", "outside", hint)
    return path


def _report_problems(build: Build, path: Path) -> None:
    """Report the warnings about all scripts. Raises JobgenError if one could not be made."""
    if len(build.problems) >= PROBLEMS_KEPT:
        report(f"{path}: {PROBLEMS_KEPT} problems: no others were searched for")
    if build.problems:
        raise JobgenError(build.problems)
    for warning in sorted(build.warnings)[:PROBLEMS_SHOWN]:
        report(f"warning: {warning}")


def _make_scripts(scripts: Iterable[Script | JobgenError], total: int, build: Build) -> None:
    with _progress_bar(total) as advance:
        for script in scripts:
            if isinstance(script, JobgenError):
                build.problems.update(script.problems)
                continue
            try:
                build.make(script)
            except JobgenError as error:
                build.problems.update(script.with_places(error.problems))
            advance(1)
            if len(build.problems) >= PROBLEMS_KEPT:
                return


def _check_owner(path: Path, header: Header, generated: bytes, manifest: str) -> None:
    """Raise JobgenError for a script of another manifest, or of none, with another command."""
    new = read_header(generated)
    same_command = new is not None and new.command == header.command
    if header.manifest != manifest and not same_command:
        owner = f"of {header.manifest}" if header.manifest else "of no manifest"
        text = f"there is a script of this name that is {owner}: {header.command:.80}"
        raise problem(str(path), text, "output", "move it away, or --force would lose it")


def _write_changes(build: Build) -> int:
    """Write the changed scripts, except scripts edited during the run; returns their number."""
    written = 0
    for path, real, compressed in build.changes:
        data = zlib.decompress(compressed)
        try:
            build.must_write(path, real, data)
        except JobgenError as error:
            report(str(error))
            continue
        change_file(path, real, data, build.options.dry_run)
        written += 1
    return written


def _remove_obsolete(folders: Iterable[Path], build: Build) -> int:
    """Remove scripts of the manifest that it no longer has; returns their number."""
    files = {file for folder in folders for file in files_below(folder, report_unreadable)}
    obsolete = [file for file in sorted(files) if build.is_obsolete(*file)]
    for path, real in obsolete:
        change_file(path, real, None, build.options.dry_run)
    return len(obsolete)


@contextmanager
def _progress_bar(total: int) -> Iterator[Callable[[int], None]]:
    """A function that advances a progress bar on stderr; it does nothing without a terminal."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    import click

    with click.progressbar(length=total, file=sys.stderr, label="scripts") as bar:
        yield bar.update
