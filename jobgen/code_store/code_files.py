"""Which files are the code of a folder, and what each of them has.

In a git work tree these are the files that git tracks, as they are now, and those that it does not
ignore; elsewhere all files. `.jobgenignore` leaves out more, in both.
"""

from __future__ import annotations

import os
import stat
import subprocess
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from jobgen.errors import JobgenError, problem

CODE_BYTES = 100_000_000
CODE_FILES = 20_000
IGNORE_FILE = ".jobgenignore"
LIST_FILE = ".jobgen-files"  # of a copy: what it has
_OURS = (b".jobgen", b"jobgen-logs")  # folders that jobgen makes
_SHOWN = 5  # of the largest things of a folder that is too large
_LFS = b"version https://git-lfs.github.com/spec/v1\n"


class CodeFile(NamedTuple):
    """A file or a link of the code; paths are bytes, as the file system has them."""

    path: bytes  # from the folder of the code
    size: int
    executable: bool = False
    target: bytes | None = None  # of a link


def code_files(folder: Path) -> list[CodeFile]:
    """The code of a folder, sorted by path.

    Raises JobgenError for a folder that cannot be read or is too large, for submodules and files of
    Git LFS that are not here, and for a link that leads out of the folder.
    """
    root = os.fsencode(folder)
    try:
        names = _names_by_git(root) if _is_in_git(root) else _names_below(root, b"")
        patterns = _ignored(root)
        files = [
            _described(root, name)
            for name in sorted(set(names))
            if not any(_matches(name, pattern) for pattern in patterns)
            and not name.startswith(tuple(folder + b"/" for folder in _OURS))
        ]
    except OSError as error:
        raise _wrong(f"{os.fsdecode(error.filename or root)}: {error.strerror}") from None
    if sum(each.size for each in files) > CODE_BYTES or len(files) > CODE_FILES:
        raise _too_large(files)
    return files  # sorted by the bytes of their paths, as `sort` does with LC_ALL=C


def _is_in_git(root: bytes) -> bool:
    return not _git(root, "rev-parse", "--is-inside-work-tree").returncode


def _git(root: bytes, *words: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run([b"git", b"-C", root, *words], capture_output=True, check=False)
    except FileNotFoundError:  # no git on this machine
        return subprocess.CompletedProcess(words, 127, b"", b"")


def _names_by_git(root: bytes) -> Iterator[bytes]:
    done = _git(root, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    if done.returncode:
        raise _wrong(f"git ls-files: {done.stderr.decode('utf-8', 'replace').strip()}")
    for name in filter(None, done.stdout.split(b"\0")):
        path = os.path.join(root, name)
        if not os.path.isdir(path) or os.path.islink(path):
            if os.path.lexists(path):  # git tracks it, and it was removed, or is not checked out
                yield name
        elif os.path.exists(os.path.join(path, b".git")):  # a submodule, or a repository within
            inner = name.rstrip(b"/")
            yield from (inner + b"/" + each for each in _names_by_git(path))
        else:
            text = f"the submodule {os.fsdecode(name)} is not checked out"
            raise _wrong(text, "git submodule update --init")


def _names_below(root: bytes, inner: bytes) -> Iterator[bytes]:
    with os.scandir(os.path.join(root, inner)) as entries:
        for entry in entries:
            name = inner + entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in (b".git", b"__pycache__", *_OURS):
                    yield from _names_below(root, name + b"/")
            else:
                yield name


def _ignored(root: bytes) -> list[bytes]:
    """The patterns of .jobgenignore; lines that are empty or begin with # are none."""
    try:
        with open(os.path.join(root, IGNORE_FILE.encode()), "rb") as stream:
            lines = [line.strip() for line in stream]
    except FileNotFoundError:
        return []
    return [line for line in lines if line and not line.startswith(b"#")]


def _matches(name: bytes, pattern: bytes) -> bool:
    """Whether a pattern leaves out a file, by its path or by a part of it; /x is x at the top."""
    parts = name.split(b"/")
    whole = [b"/".join(parts[: count + 1]) for count in range(len(parts))]
    pattern, is_path = pattern.rstrip(b"/"), b"/" in pattern.rstrip(b"/")
    return any(fnmatchcase(each, pattern.lstrip(b"/")) for each in (whole if is_path else parts))


def _described(root: bytes, name: bytes) -> CodeFile:
    """What the code has under a name."""
    path = os.path.join(root, name)
    shown = os.fsdecode(name)
    if any(byte < 32 for byte in name):
        raise _wrong(f"{shown!r} has a control character in its name", _leave_out(name))
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        target = os.readlink(path)
        place = os.path.normpath(os.path.join(os.path.dirname(name), target))
        if target.startswith(b"/") or place.startswith(b".."):
            raise _wrong(f"{shown} is a link out of the folder", _leave_out(name))
        return CodeFile(name, 0, target=target)
    if not stat.S_ISREG(status.st_mode):
        raise _wrong(f"{shown} is no file, no folder and no link", _leave_out(name))
    return CodeFile(name, status.st_size, bool(status.st_mode & stat.S_IXUSR))


def _leave_out(name: bytes) -> str:
    return f"leave it out: a line {os.fsdecode(name)!r} in {IGNORE_FILE}"


def _too_large(files: list[CodeFile]) -> JobgenError:
    """The error for a folder that is no code, with the largest things in it."""
    sizes, counts = Counter[bytes](), Counter[bytes]()
    for each in files:
        top, slash, _ = each.path.partition(b"/")
        sizes[top + slash] += each.size
        counts[top + slash] += 1
    size = sum(sizes.values())
    largest = (sizes if size > CODE_BYTES else counts).most_common(_SHOWN)
    shown = ", ".join(
        f"{os.fsdecode(name)} ({sizes[name] / 1e6:.0f} MB, {counts[name]} files)"
        for name, _ in largest
    )
    text = f"{size / 1e6:.0f} MB in {len(files)} files are too much for code: {shown}"
    return _wrong(text, f"leave out what is no code: a line each in {IGNORE_FILE}")


def _wrong(text: str, hint: str = "") -> JobgenError:
    return problem("--code", text, "code", hint)
