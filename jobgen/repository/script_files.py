"""Finds generated scripts in files and folders, and reads them."""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from jobgen.errors import problem, report
from jobgen.limits import HEADER_OFFSET, SCRIPT_BYTES
from jobgen.paths import to_path, walk
from jobgen.scripts.header import read_header


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
        # Without O_NONBLOCK, opening a pipe would wait for its writer.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        try:
            return _read(file, path)
        finally:
            os.close(file)
    except OSError as error:
        raise problem(str(path), f"cannot be read: {error.strerror}", "unreadable") from None


def _read(file: int, path: Path) -> bytes:
    state = os.fstat(file)
    if not stat.S_ISREG(state.st_mode):
        raise problem(str(path), "not a regular file", "unreadable")
    data = os.read(file, HEADER_OFFSET)
    if b"jobgen" not in data:
        return b""
    if state.st_size > SCRIPT_BYTES:
        if read_header(data):
            text = f"a script of {state.st_size} bytes"
            raise problem(str(path), text, "unreadable", f"jobgen makes at most {SCRIPT_BYTES}")
        return b""
    while more := os.read(file, SCRIPT_BYTES):
        data += more
    return data
