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
from jobgen.scripts.header import read_header
from jobgen.scripts.write import remove, rewrite, write

MISSING, CHANGED = "missing", "changed"


def find_files(
    paths: Iterable[str], on_error: Callable[[OSError], None]
) -> Iterator[tuple[Path, str]]:
    """The named files, and those in named folders except hidden ones and links; each once.

    Each comes with its path without links. `on_error` gets the folders that cannot be read. Raises
    JobgenError for an empty path.
    """
    seen: set[str] = set()
    for text in paths:
        if not text:
            hint = "`.` is the working folder"
            raise problem("jobgen check", "an empty path", "usage", hint)
        top = to_path(text)
        is_folder = os.path.isdir(top)
        found = files_below(top, on_error) if is_folder else [(top, os.path.realpath(top))]
        for path, real in found:
            if real not in seen:
                seen.add(real)
                yield path, real


def files_below(top: Path, on_error: Callable[[OSError], None]) -> Iterator[tuple[Path, str]]:
    """The files below a folder except hidden ones and links, with their paths without links."""
    for folder, folders, names in walk(top, on_error):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        real = os.path.realpath(folder)
        for name in sorted(names):
            path = Path(folder, name)
            if not name.startswith(".") and _may_be_script(path):
                yield path, f"{real}/{name}"


def _may_be_script(path: Path) -> bool:
    """Whether it is a file, and no link to one. (Path makes two system calls.)"""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except OSError:  # a folder that lists its files and lets nobody read them: read_script reports
        return True


def report_unreadable(error: OSError) -> None:
    """Report a folder that cannot be read."""
    report(f"{error.filename}: cannot be read: {error.strerror} [unreadable]")


def read_script(path: Path) -> bytes:
    """The bytes of a script; nothing for a file that cannot be one. Raises JobgenError."""
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
    """A pipe without a writer would be waited for."""
    return os.open(path, flags | os.O_NONBLOCK)


def change_file(path: Path, real: str, data: bytes | None, dry_run: bool) -> None:
    """Write a file, or remove it without data, and say so; a dry run says it alone."""
    change = "removed" if data is None else "written"
    if data is None and not dry_run:
        remove(path, real)
    elif data is not None and not dry_run:
        rewrite(path, real, data)
    write(f"{printable(str(path))}: {'would be ' * dry_run}{change}\n")


def keepers_of(script: str, manifest: str, data: bytes) -> list[Path]:
    """The files that a script's bytes name, from its path without links and its header's manifest.

    None outside of the script's repository: the header may be untrusted.
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
    """The files that are not what jobgen makes, and their state.

    Those of another jobgen are left out: their scripts are stale, and nobody has the text.
    """
    for path in paths:
        wanted = keeper_files().get(path.name)
        with suppress(JobgenError):
            if wanted is None or (read_script(path) == wanted and not path.is_symlink()):
                continue
        yield path, CHANGED if os.path.lexists(path) else MISSING


def write_keeper(path: Path) -> None:
    """Write the file again. Raises JobgenError."""
    rewrite(path, _real(path), keeper_files()[path.name])


def write_keepers(folder: Path, names: Iterable[str], dry_run: bool) -> bool:
    """Write the named files that are wrong; returns whether there are any. Raises JobgenError."""
    wrong = list(wrong_keepers(folder / FOLDER / name for name in sorted(names)))
    for path, _ in wrong:
        change_file(path, _real(path), keeper_files()[path.name], dry_run)
    return bool(wrong)


def prune_keepers(folder: Path, names: Iterable[str], dry_run: bool) -> bool:
    """Remove the files that no script names any more; returns whether there are any."""
    found = (folder / FOLDER).glob(f"keeper-{'[0-9a-f]' * 16}.py")
    obsolete = sorted(path for path in found if path.name not in set(names))
    for path in obsolete:
        change_file(path, _real(path), None, dry_run)
    return bool(obsolete)


def _real(path: Path) -> str:
    """The path without links, but for the two last parts, which may be no links."""
    return os.path.join(os.path.realpath(path.parent.parent), FOLDER, path.name)
