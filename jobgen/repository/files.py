"""Finds and reads the scripts of a job repository, and writes the keepers beside a manifest."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from jobgen.bounds import HEADER_OFFSET, SCRIPT_BYTES
from jobgen.errors import JobgenError, printable, problem, report
from jobgen.keeper.carried import FOLDER, keeper_files, named_files
from jobgen.paths import is_outside, repository, shortest, to_path, walk
from jobgen.runs.records import left_by_jobs
from jobgen.scripts.header import read_header
from jobgen.scripts.write import remove, rewrite, write

MISSING, CHANGED = "missing", "changed"


def find_files(
    paths: Iterable[str], on_error: Callable[[OSError], None], with_logs: bool = False
) -> Iterator[tuple[Path, str]]:
    """The named files, and the files below named folders, except hidden files and links; each once.

    Each file comes with its path without links. `on_error` is called for a folder that cannot be
    read. Raises JobgenError for an empty path.
    """
    seen: set[str] = set()
    for text in paths:
        if not text:
            hint = "`.` is the working folder"
            raise problem("jobgen check", "an empty path", "usage", hint)
        top = to_path(text)
        is_folder = os.path.isdir(top)
        found = (
            files_below(top, on_error, with_logs) if is_folder else [(top, os.path.realpath(top))]
        )
        for path, real in found:
            if real not in seen:
                seen.add(real)
                yield path, real


def files_below(
    top: Path, on_error: Callable[[OSError], None], with_logs: bool = False
) -> Iterator[tuple[Path, str]]:
    """The files below a folder, except hidden files and links, each with its path without links.

    What jobs have left is none, but `with_logs`: their scripts are copies of those that ran.
    """
    for folder, folders, names in walk(top, on_error):
        of_jobs = set[str]() if with_logs else left_by_jobs(folder, folders, names)
        shown = (name for name in folders if not name.startswith("."))
        folders[:] = sorted(name for name in shown if name not in of_jobs)
        real = os.path.realpath(folder)
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and _may_be_script(path):
                yield path, f"{real}/{name}"


def _may_be_script(path: Path) -> bool:
    """Whether a path is a regular file, and no link. (Path's methods make two system calls.)"""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:  # the folder can be listed but not searched: read_script reports the error
        return True


def report_unreadable(error: OSError) -> None:
    """Report a folder that cannot be read, on stderr."""
    report(f"{error.filename}: cannot be read: {error.strerror} [unreadable]")


def read_script(path: Path) -> bytes:
    """The bytes of a script; b"" for a file that is not a script of jobgen. Raises JobgenError."""
    try:
        with open(path, "rb", opener=_opened_at_once) as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise problem(str(path), "not a regular file", "unreadable")
            data = file.read(HEADER_OFFSET)
            if b"jobgen" not in data:
                return b""
            if state.st_size <= SCRIPT_BYTES:
                return data + file.read()
    except OSError as error:
        raise problem(str(path), f"cannot be read: {error.strerror}", "unreadable") from None
    if read_header(data):
        text = f"a script of {state.st_size} bytes"
        raise problem(str(path), text, "unreadable", f"jobgen makes at most {SCRIPT_BYTES}")
    return b""


def _opened_at_once(path: str, flags: int) -> int:
    """Open a file without blocking: a pipe without a writer would block."""
    return os.open(path, flags | os.O_NONBLOCK)


def change_file(path: Path, real: str, data: bytes | None, dry_run: bool) -> None:
    """Write a file, or remove it if `data` is None, and print that; a dry run only prints."""
    change = "removed" if data is None else "written"
    if data is None and not dry_run:
        remove(path, real)
    elif data is not None and not dry_run:
        rewrite(path, real, data)
    write(f"{printable(str(path))}: {'would be ' * dry_run}{change}\n")


def keepers_of(script: str, manifest: str, data: bytes) -> list[Path]:
    """The keepers that a script names, beside its manifest; `script` is a path without links.

    [] if the manifest's folder is outside of the script's repository: a header may be untrusted.
    """
    names = named_files(data) if manifest else ()
    if not names:
        return []
    folder = Path(os.path.normpath(os.path.join(os.path.dirname(script), manifest))).parent
    within = repository(Path(script).parent)
    if within is None or is_outside(folder, within):
        return []
    return [shortest(folder) / FOLDER / name for name in sorted(names)]


def wrong_keepers(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """The keepers that are missing, or differ from the text that jobgen writes, with their state.

    Keepers of another version are skipped: their scripts are stale, and their text is not known.
    """
    for path in paths:
        wanted = keeper_files().get(path.name)
        with suppress(JobgenError):
            if wanted is None or (read_script(path) == wanted and not path.is_symlink()):
                continue
        yield path, CHANGED if os.path.lexists(path) else MISSING


def write_keeper(path: Path) -> None:
    """Write a keeper again. Raises JobgenError."""
    rewrite(path, _real(path), keeper_files()[path.name])


def write_keepers(folder: Path, names: Iterable[str], dry_run: bool) -> bool:
    """Write the named keepers that are wrong; returns whether any was. Raises JobgenError."""
    wrong = list(wrong_keepers(folder / FOLDER / name for name in sorted(names)))
    for path, _ in wrong:
        change_file(path, _real(path), keeper_files()[path.name], dry_run)
    return bool(wrong)


def prune_keepers(folder: Path, names: Iterable[str], dry_run: bool) -> bool:
    """Remove keepers that no script names any more; returns whether there were any."""
    found = (folder / FOLDER).glob(f"keeper-{'[0-9a-f]' * 16}.py")
    obsolete = sorted(path for path in found if path.name not in set(names))
    for path in obsolete:
        change_file(path, _real(path), None, dry_run)
    return bool(obsolete)


def _real(path: Path) -> str:
    """A keeper's path without links; its last two parts are kept, since they must not be links."""
    return os.path.join(os.path.realpath(path.parent.parent), FOLDER, path.name)
