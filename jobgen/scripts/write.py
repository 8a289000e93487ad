"""Writes a script to stdout, or to a file, which is written as a whole or not at all."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EISDIR, ELOOP
from pathlib import Path

from jobgen.bounds import SCRIPT_BYTES
from jobgen.errors import ClosedPipe, discard_stdout, problem
from jobgen.paths import effective_user, to_path

# To open a folder that the user may enter but not list; only Linux has O_PATH.
_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW
_LINKS_AT_MOST = 40  # the limit of Linux: path_resolution(7)


def write(text: str, output: str | None = None, executable: bool = True) -> None:
    """Write `text` to stdout or, atomically, to the file `output`; a script is `executable`.

    Missing folders are created.
    Raises JobgenError if the file cannot be written, if it exists and jobgen has not made it, or if
    its path has a link that somebody else may have put there; then the file has not changed.
    """
    data = text.encode("utf-8")
    if output in (None, "-"):
        write_to_stdout(data)
        return
    try:
        if str(output).endswith("/"):
            raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
        path = to_path(str(output))
        real = _followed(path, f"-o {output}")
        if path.exists() and not path.is_file():
            path.write_bytes(data)  # a device or a pipe is not replaced
        else:
            _refuse_to_lose(real, data, f"-o {output}")
            mode = (0o777 if executable else 0o666) & ~_umask()
            replace_file(real, data, mode, sync=True, make_folders=True)
    except OSError as error:
        raise problem(f"-o {output}", f"cannot be written: {error.strerror}", "output") from None


def check_output(text: str, output: str | None) -> None:
    """Raise JobgenError if `write` would lose a file that jobgen has not made."""
    if output not in (None, "-") and to_path(str(output)).is_file():
        with suppress(OSError):  # `write` reports it
            path = _followed(to_path(str(output)), f"-o {output}")
            _refuse_to_lose(path, text.encode("utf-8"), f"-o {output}")


def _refuse_to_lose(file: Path, data: bytes, option: str) -> None:
    """Raise JobgenError if the new `data` would replace a file that jobgen has not made.

    A file without a header, such as a report, counts as made if `data` has the same first line.
    """
    from jobgen.scripts.header import read_header  # --version and completion do not need it

    try:
        with file.open("rb") as stream:
            old = stream.read(SCRIPT_BYTES)
    except FileNotFoundError:
        return
    is_made = read_header(old) or (
        not read_header(data) and old.splitlines()[:1] == data.splitlines()[:1]
    )
    if old and not is_made:
        text = "there is a file of this name that jobgen has not made"
        raise problem(option, text, "output", "write another name, or move the file away")


def rewrite(path: Path, real: str, data: bytes) -> None:
    """Write one of many scripts, atomically; a file keeps its mode, and a new file is executable.

    `real` is the path with its links resolved when the file was read; a link that is newer is an
    error. Raises JobgenError if the file cannot be written; then the file has not changed.
    """
    try:
        try:
            mode = os.stat(real).st_mode & 0o777
        except FileNotFoundError:
            mode = 0o777 & ~_umask()
        replace_file(Path(real), data, mode, sync=False, make_folders=True)
    except OSError as error:
        raise problem(str(path), f"cannot be written: {error.strerror}", "output") from None


def remove(path: Path, real: str) -> None:
    """Remove a file, with the checks of `rewrite`. Raises JobgenError if it cannot be removed."""
    try:
        with _open_folder(Path(real)) as folder:
            os.unlink(os.path.basename(real), dir_fd=folder)
    except OSError as error:
        raise problem(str(path), f"cannot be removed: {error.strerror}", "output") from None


def make_folder(path: str) -> None:
    """Create a folder and those above it, unless they exist. Raises JobgenError if that fails."""
    try:
        Path(to_path(path)).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise problem("--mkdir", f"{path}: {error.strerror}", "output") from None


def write_to_stdout(data: bytes) -> None:
    """Write bytes to stdout. Raises ClosedPipe if the reader ended, else JobgenError."""
    try:
        if sys.stdout is None:
            raise OSError(0, "it is closed")
        sys.stdout.flush()
        while data:  # if stdout is not buffered, one write may take only a part
            data = data[sys.stdout.buffer.write(data) or 0 :]
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        discard_stdout()
        raise ClosedPipe from None  # click handles BrokenPipeError in its own way
    except OSError as error:
        discard_stdout()
        raise problem("standard output", f"cannot be written: {error.strerror}", "output") from None


def replace_file(
    path: Path, data: bytes, mode: int, sync: bool, make_folders: bool = False
) -> None:
    """Replace `path` by a new file; with `sync` the file survives a crash of the machine, too.

    Links in `path` are not followed. With `make_folders`, missing folders are created.
    """
    name = f".jobgen.{os.urandom(8).hex()}"
    with _open_folder(path, make_folders) as folder:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600, dir_fd=folder)
        try:
            with os.fdopen(handle, "wb") as stream:
                stream.write(data)
                stream.flush()
                # A chmod by name could change another file that has this name by now.
                os.fchmod(handle, mode)
                if sync:
                    os.fsync(handle)
            os.replace(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(name, dir_fd=folder)
            raise


def write_private(file: Path, data: bytes, make_folders: bool = False) -> None:
    """Replace a file that only the user reads; links in its folder's path are followed.

    Such a folder is the user's own choice: a home or a file system may be behind a link.
    """
    place = Path(os.path.realpath(file.parent), file.name)
    replace_file(place, data, 0o600, sync=False, make_folders=make_folders)


def _followed(path: Path, option: str) -> Path:
    """Returns a path with its links resolved, if the user may follow all of them.

    Raises JobgenError for a link of another user in a shared folder, OSError for a circle of links.
    """
    real, links = Path("/"), 0
    names = [*reversed(path.absolute().parts)]  # the root is one of them
    while names:
        name = names.pop()
        real = real.parent if name == ".." else real / name
        try:
            target = os.readlink(real)
        except OSError:  # the path is no link, or does not exist
            continue
        _refuse_link_of_others(real, option)
        links += 1
        if links > _LINKS_AT_MOST:
            raise OSError(ELOOP, os.strerror(ELOOP))
        names += reversed(Path(target).parts)
        real = real.parent
    return real


def _refuse_link_of_others(link: Path, option: str) -> None:
    """Apply the rule of the kernel's fs.protected_symlinks, which some machines do not apply."""
    folder, owner = link.parent.stat(), link.lstat().st_uid
    is_shared = folder.st_mode & (stat.S_ISVTX | stat.S_IWOTH)
    if is_shared and owner not in (effective_user(), 0, folder.st_uid):
        text = f"{link} is a link of user {owner}, in a folder where others can put links"
        raise problem(option, text, "output", "name a file in a folder of your own")


@contextmanager
def _open_folder(path: Path, make_folders: bool = False) -> Iterator[int]:
    """Yields a descriptor of a file's folder, so that system calls act in no other folder.

    Raises OSError if a part of the path is a link, which somebody may have put there just now.
    """
    folder = os.open(path.anchor, _FOLDER_FLAGS)
    try:
        for name in path.parts[1:-1]:
            try:
                inner = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
            except FileNotFoundError:
                if not make_folders:
                    raise
                with suppress(FileExistsError):  # another process created it
                    os.mkdir(name, dir_fd=folder)
                inner = os.open(name, _FOLDER_FLAGS, dir_fd=folder)
            os.close(folder)
            folder = inner
        yield folder
    finally:
        os.close(folder)


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
