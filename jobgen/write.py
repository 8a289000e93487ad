"""The script to stdout, or to a file that appears whole: with `submit`, the place with effects."""

from __future__ import annotations

import os
import stat
import sys
from errno import EISDIR
from pathlib import Path

from jobgen.errors import ClosedPipe, drop_stdout, problem
from jobgen.paths import native


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
        path = Path(os.path.realpath(native(str(output))))
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a device or a pipe: there is nothing to replace
        else:
            replace(path, data, 0o777 & ~_umask(), safe=True)
    except OSError as error:
        raise problem(f"-o {output}", f"cannot be written: {error.strerror}", "output") from None


def rewrite(path: Path, data: bytes) -> None:
    """Write one of many scripts, atomically: a file keeps its mode, a new one is executable.

    Raises JobgenError if it cannot be written; then the file is as it was.
    """
    try:
        real = Path(os.path.realpath(path))
        try:
            mode = stat.S_IMODE(real.stat().st_mode)
        except FileNotFoundError:
            mode = 0o777 & ~_umask()
            real.parent.mkdir(parents=True, exist_ok=True)
        replace(real, data, mode, safe=False)  # it can be made again
    except OSError as error:
        raise problem(str(path), f"cannot be written: {error.strerror}", "output") from None


def remove(path: Path) -> None:
    """Remove a file. Raises JobgenError if that cannot be."""
    try:
        path.unlink()
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


def replace(path: Path, data: bytes, mode: int, safe: bool) -> None:
    """Put a file of its own in the place of `path`; `safe` also if the machine fails just then."""
    import tempfile  # only here: it takes a while to import

    handle, name = tempfile.mkstemp(prefix=".jobgen.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            if safe:
                os.fsync(stream.fileno())
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
