"""Which files are the code of a folder, and what each of them has.

In a git work tree these are the files that git tracks, as they are now, and those that it does not
ignore; elsewhere all files. `.jobgenignore` leaves out more, in both.
"""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Iterable, Iterator
from fnmatch import translate
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from jobgen.code_store.git_files import LeftOut, files_by_git, wrong
from jobgen.errors import JobgenError, Mark, Problem, counted, in_bytes, problem

CODE_BYTES = 100_000_000
CODE_FILES = 20_000
IGNORE_FILE = ".jobgenignore"
LIST_FILE = ".jobgen-files"  # of a copy: what it has
_READ = 2  # times CODE_FILES: enough of a folder that is too large to name what fills it
_SHOWN = 5  # of the largest things of a folder that is too large
# Parts of paths that are never code: what jobgen and Python make beside it.
_MADE = re.compile(rb"\.git|__pycache__|\.jobgen(\..*)?|\.jobgen-files|jobgen-logs")
# The output of a job, unless git tracks it: train-12.out, train.o12, as in scripts of jobgen.
_OUTPUT = re.compile(rb".*([-_]\d+\.(out|err)|\.[oe]\d+(\.\d+)?)")

_CONTROL = re.compile(rb"[\0-\x1f\x7f]")


class CodeFile(NamedTuple):
    """A file or a link of the code; paths are bytes, as the file system has them."""

    path: bytes  # from the folder of the code
    size: int
    mode: int = 0  # who may read, write and run it; 0 for a link
    target: bytes | None = None  # of a link
    digits: str = ""  # of the SHA-256 of its content, once it is read

    @property
    def executable(self) -> bool:
        """Whether its owner may run it: all of its mode that is code, as for git."""
        return bool(self.mode & stat.S_IXUSR)


def code_files(folder: Path, skipped: Iterable[Path] = ()) -> list[CodeFile]:
    """The code of a folder, sorted by path, without the folders `skipped`.

    Raises JobgenError for a folder that cannot be read, has no code or is too large, for a
    submodule that is not here, and for names and links that no copy can have.
    """
    root = os.fsencode(folder)
    if os.path.realpath(root) == b"/":
        text = f"{folder} is the whole machine"
        raise wrong(text, "name the folder with the program's code")
    if not os.path.isdir(root):
        text = "no folder" if os.path.lexists(root) else "there is no such folder"
        raise wrong(f"{folder}: {text}", "name the folder with the program's code")
    try:
        is_left_out = _rules(root, skipped)
        names = files_by_git(root, is_left_out)
        if names is None:
            names = _names_below(root, b"", is_left_out)
        most = list(islice(names, _READ * CODE_FILES))  # else a home takes minutes
        files, problems = _described(root, sorted(set(most)))
    except OSError as error:
        raise wrong(f"{os.fsdecode(error.filename or root)}: {error.strerror}") from None
    if sum(each.size for each in files) > CODE_BYTES or len(files) > CODE_FILES:
        raise _too_large(files)
    if problems:
        raise JobgenError(problems)
    if not files:
        raise wrong(f"{folder} has no files that are code", "name another folder: git ignores this")
    return files  # sorted by the bytes of their paths, as `sort` does with LC_ALL=C


def _described(root: bytes, names: Iterable[bytes]) -> tuple[list[CodeFile], list[Problem]]:
    """What the code has under these names, and what no copy can have."""
    files, problems = list[CodeFile](), list[Problem]()
    for name in names:
        try:
            files.append(_file(root, name))
        except JobgenError as error:
            problems += error.problems
    return _without_links(files), problems


def _without_links(files: list[CodeFile]) -> list[CodeFile]:
    """The files, but not those that git tracks in a folder in whose place a link is now."""
    links = {each.path + b"/" for each in files if each.target is not None}
    return [each for each in files if links.isdisjoint(_folders(each.path))]


def _names_below(root: bytes, inner: bytes, is_left_out: LeftOut) -> Iterator[bytes]:
    with os.scandir(os.path.join(root, inner)) as entries:
        for entry in entries:
            name = inner + entry.name
            if is_left_out(name, False):
                continue
            if entry.is_dir(follow_symlinks=False):
                yield from _names_below(root, name + b"/", is_left_out)
            else:
                yield name


def _rules(root: bytes, skipped: Iterable[Path]) -> LeftOut:
    """The function that says whether a path is left out: by a rule for it, or a folder above it."""
    below = {os.path.relpath(os.fsencode(each), root) for each in skipped}
    ignored = _ignored(root)

    def is_left_out(name: bytes, is_tracked: bool) -> bool:
        if any(map(_MADE.fullmatch, name.split(b"/"))):
            return True
        if not is_tracked and _OUTPUT.fullmatch(name):
            return True
        paths = (each.rstrip(b"/") for each in _folders(name))
        return any(path in below or ignored.match(path) for path in paths)

    return is_left_out


def _ignored(root: bytes) -> re.Pattern[bytes]:
    """The paths that .jobgenignore leaves out.

    Raises JobgenError for a line that git would read in another way, and OSError.
    """
    file = Path(os.fsdecode(root), IGNORE_FILE)
    patterns = ["(?!)"]  # matches nothing
    for number, line in enumerate(file.read_bytes().split(b"\n") if file.exists() else (), 1):
        if line.startswith(b"!"):
            text = "a line with ! brings nothing back here"
            raise problem(Mark(str(file), number, 1), text, "code", "remove it")
        pattern = line.strip().rstrip(b"/").removeprefix(b"**/").decode("latin-1")
        if pattern and not pattern.startswith("#"):
            above = "" if "/" in pattern else "(?:.*/)?"  # without a /, it is for all folders
            patterns.append(above + translate(pattern.lstrip("/")))
    return re.compile("|".join(patterns).encode("latin-1"))


def _file(root: bytes, name: bytes) -> CodeFile:
    """What the code has under a name. Raises JobgenError for what no copy can have."""
    path = os.path.join(root, name)
    if _CONTROL.search(name):
        hint = "give it another name, or leave it out by a pattern in .jobgenignore"
        raise wrong(f"{os.fsdecode(name)!r} has a control character in its name", hint)
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        return CodeFile(name, 0, target=_target(root, name))
    if stat.S_ISDIR(status.st_mode):
        text = f"the submodule {os.fsdecode(name)} is not checked out"
        raise wrong(text, f"git submodule update --init --recursive, or {leave_out(name)}")
    if not stat.S_ISREG(status.st_mode):
        raise wrong(f"{os.fsdecode(name)} is no file, no folder and no link", leave_out(name))
    return CodeFile(name, status.st_size, stat.S_IMODE(status.st_mode))


def leave_out(name: bytes) -> str:
    """The hint that leaves a file or folder out of the code."""
    pattern = re.sub(r"([*?[])", r"[\1]", os.fsdecode(name))
    return f"leave it out: a line /{pattern} in {IGNORE_FILE}"


def _target(root: bytes, name: bytes) -> bytes:
    """Where a link leads to. Raises JobgenError if that is not in the code, or not in a copy."""
    path = os.path.join(root, name)
    target = os.readlink(path)
    place = os.path.normpath(os.path.join(os.path.dirname(name), target))
    top = os.path.realpath(root)
    is_out = target.startswith(b"/") or place == b".." or place.startswith(b"../")
    # A link may also lead out by another link on its way.
    if is_out or os.path.commonpath([top, os.path.realpath(path)]) != top:
        text = f"{os.fsdecode(name)} is a link out of the folder, to {os.fsdecode(target)}"
        raise wrong(text, leave_out(name))
    if _CONTROL.search(target):
        text = f"{os.fsdecode(name)} is a link to a name with a control character"
        raise wrong(text, leave_out(name))
    return target


def _too_large(files: list[CodeFile]) -> JobgenError:
    """The error for a folder that is no code, with the largest things in it."""
    size = sum(each.size for each in files)
    by_size = size > CODE_BYTES
    sizes, counts = Counter[bytes](), Counter[bytes]()
    for each in files:
        for above in _folders(each.path):
            sizes[above] += each.size
            counts[above] += 1
    amounts = sizes if by_size else counts
    shown = ", ".join(
        f"/{os.fsdecode(name)} ({in_bytes(sizes[name])}, {counted(counts[name], 'file')})"
        for name in _largest(amounts)
    )
    number = f"{len(files)}" if len(files) < _READ * CODE_FILES else f"more than {len(files)}"
    text = f"{in_bytes(size)} in {number} files are too much for code: {shown}"
    most = f"at most {in_bytes(CODE_BYTES)} and {CODE_FILES} files"
    return wrong(text, f"{most}; leave out what is no code: a line for each in {IGNORE_FILE}")


def _folders(path: bytes) -> Iterator[bytes]:
    """The folders above a file, each with a / at its end, and the file."""
    at = path.find(b"/")
    while at >= 0:
        yield path[: at + 1]
        at = path.find(b"/", at + 1)
    yield path


def _largest(amounts: Counter[bytes]) -> list[bytes]:
    """The largest files and folders.

    What is in a folder is named in its place, as long as what is named has four fifths of all.
    """
    below: dict[bytes, list[bytes]] = {}
    for name in amounts:
        below.setdefault(name.rstrip(b"/").rpartition(b"/")[0], []).append(name)

    def most_of(names: list[bytes]) -> list[bytes]:
        return sorted(names, key=amounts.__getitem__, reverse=True)[:_SHOWN]

    def total(names: list[bytes]) -> int:
        return sum(map(amounts.__getitem__, names))

    found, enough = most_of(below[b""]), 0.8 * total(below[b""])
    while folder := next((each for each in found if each.endswith(b"/")), None):  # the largest one
        inner = most_of([*below[folder[:-1]], *(each for each in found if each != folder)])
        if total(inner) < min(enough, total(found)):
            break
        found = inner
    return found
