"""The script to stdout, or to a file that appears whole: with `submit`, the place with effects."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EISDIR
from pathlib import Path

from jobgen.errors import ClosedPipe, drop_stdout, problem
from jobgen.paths import native

# Of a folder that may be gone through, and not be listed; Linux alone has this.
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW


def write(text: str, output: str | None = None) -> None:
    """Write `text` to stdout, or to the file `output`, atomically and executable.

    Raises JobgenError if it cannot be written; then the file is as it was.
    """
    data = text.encode("utf-8")
    if output in (None, "-"):
        _to_stdout(data)
        return
    try:
        if str(output).endswith("/"):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        path = native(str(output))
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a device or a pipe: there is nothing to replace
        else:
            replace(Path(os.path.realpath(path)), data, 0o777 & ~_umask(), safe=True)
    except OSError as error:
        raise problem(f"-o {output}", f"cannot be written: {error.strerror}", "output") from None


def rewrite(path: Path, real: str, data: bytes) -> None:
    """Write one of many scripts, atomically: a file keeps its permissions, a new one is executable.

    `real` is the path without links, as it was when it was looked at; it is not to lead elsewhere
    by now. Raises JobgenError if it cannot be written; then the file is as it was.
    """
    try:
        try:
            mode = os.stat(real).st_mode & 0o777
        except FileNotFoundError:
            mode = 0o777 & ~_umask()
        replace(Path(real), data, mode, safe=False, make=True)  # it can be made again
    except OSError as error:
        raise problem(str(path), f"cannot be written: {error.strerror}", "output") from None


def remove(path: Path, real: str) -> None:
    """Remove a file, as `rewrite` writes one. Raises JobgenError if that cannot be."""
    try:
        with _folder(Path(real)) as folder:
            os.unlink(os.path.basename(real), dir_fd=folder)
    except OSError as error:
        raise problem(str(path), f"cannot be removed: {error.strerror}", "output") from None


def make_folder(path: str) -> None:
    """Make a folder and those above it, unless it is there. JobgenError if that cannot be."""
    try:
        Path(native(path)).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise problem("--mkdir", f"{path}: {error.strerror}", "output") from None


def _to_stdout(data: bytes) -> None:
    try:
        if sys.stdout is None:
            raise OSError(0, "it is closed")
        sys.stdout.flush()
        while data:  # one write may take a part only, where stdout is not buffered
            data = data[sys.stdout.buffer.write(data) or 0 :]
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        drop_stdout()
        raise ClosedPipe from None  # click has an ending of its own for BrokenPipeError
    except OSError as error:
        drop_stdout()
        raise problem("standard output", f"cannot be written: {error.strerror}", "output") from None


def replace(path: Path, data: bytes, mode: int, safe: bool, make: bool = False) -> None:
    """Put a file of its own in the place of `path`; `safe` also if the machine fails just then.

    Links in `path` are not followed. With `make`, the folders on the way to it are made.
    """
    name = f".jobgen.{os.urandom(8).hex()}"
    with _folder(path, make) as folder:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                # By its name, it could be another file's by now; what stands there in the end is
                # up to whoever can write to the folder.
                os.fchmod(handle, mode)
                if safe:
                    os.fsync(handle)
            os.replace(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(name, dir_fd=folder)
            raise


@contextmanager
def _folder(path: Path, make: bool = False) -> Iterator[int]:
    """The folder of a file, for the system's calls: what is done there is done in no other one.

    OSError if there is a link on the way to it: somebody may have put it there just now.
    """
    folder = os.open(path.anchor, _FOLDER)
    try:
        for name in path.parts[1:-1]:
            try:
                inner = os.open(name, _FOLDER, dir_fd=folder)
            except FileNotFoundError:
                if not make:
                    raise
                with suppress(FileExistsError):  # somebody else makes it, too
                    os.mkdir(name, dir_fd=folder)
                inner = os.open(name, _FOLDER, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
