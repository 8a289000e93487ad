"""Reads a release of the registry, from its archive or its folder, and checks its checksum."""

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from jobgen.bounds import REGISTRY_BYTES, REGISTRY_FILES
from jobgen.errors import JobgenError, problem
from jobgen.paths import to_path, walk
from jobgen.registry.archive import files_of_archive
from jobgen.registry.layout import CODE, check_path, is_profile, is_wanted

SUMS = "SHA256SUMS"
_SUM = re.compile("(?:sha256:)?([0-9a-f]{64})")
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")


class Release(NamedTuple):
    """A release whose checksum is right; `files` are the profiles and proofs by their paths."""

    name: str  # of its archive or folder
    sha256: str
    files: Mapping[str, bytes]


def read_release(source: str, checksum: str | None) -> Release:
    """The release in a folder or an archive.

    Raises JobgenError if its checksum is another one, or if anything in it is not as in a release.
    """
    path = to_path(source)
    if re.match(r"\w+://", source):
        raise problem("--from", "jobgen fetches nothing", "usage", f"write: curl -LO {source:.200}")
    if not os.path.exists(path):
        raise problem("--from", f"there is no {source:.200}", "missing")
    wanted = _wanted_sum(source, path, checksum)
    if path.is_dir():
        files = _files_of_folder(path, wanted)
    else:
        data = _read_file(path, REGISTRY_BYTES)
        _compare(source, data, wanted)
        files = files_of_archive(source, data)
    if not any(map(is_profile, files)):
        raise problem("--from", f"{source:.200} has no profile", CODE, "it is no release")
    return Release(Path(os.path.abspath(path)).name, wanted, files)


def _wanted_sum(source: str, path: Path, checksum: str | None) -> str:
    """The checksum that the user gives. Raises JobgenError, which says where it is to be had."""
    command = f"sha256sum {source:.200}{f'/{SUMS}' * path.is_dir()}"
    hint = (
        f"copy it from the page of the release, and not from a file beside it, which whoever "
        f"changed the release would change, too; `{command}` then shows the same"
    )
    if checksum is None:
        raise problem("--sha256", "the checksum of the release is missing", "usage", hint)
    found = _SUM.fullmatch(checksum.strip().lower())
    if not found:
        text = f"{checksum!r:.80} is no SHA-256, which has 64 digits of 0-9 and a-f"
        raise problem("--sha256", text, "value", hint)
    return found[1]


def _compare(name: str, data: bytes, wanted: str) -> None:
    found = hashlib.sha256(data).hexdigest()
    if found != wanted:
        text = f"{name:.200} has the SHA-256 {found}, and not the one that you give"
        hint = "download it again; if it is the same then, do not use it, and tell its authors"
        raise problem("--sha256", text, CODE, hint)


def _files_of_folder(top: Path, wanted: str) -> dict[str, bytes]:
    """The profiles and proofs of a folder, each file of which has its sum in SHA256SUMS."""
    try:
        listing = _read_file(top / SUMS, REGISTRY_BYTES)
    except JobgenError:
        text = f"{top} has no readable file {SUMS}, which each release has"
        raise problem("--from", text, CODE) from None
    _compare(str(top / SUMS), listing, wanted)
    sums = _sums(str(top / SUMS), listing)
    paths = [*_paths_below(top)]
    for path in paths:
        if path not in sums:
            raise problem(str(top), f"{path!r:.80} is not in {SUMS}", CODE, "take a whole release")
    if missing := [*sums.keys() - {*paths}]:
        raise problem(str(top), f"{min(missing)!r:.80} is missing", CODE, "take a whole release")
    files, allowed = {}, REGISTRY_BYTES
    for path in paths:
        data = _read_file(top / path, allowed)
        allowed -= len(data)
        if hashlib.sha256(data).hexdigest() != sums[path]:
            text = f"{path!r:.80} has changed: it has not the sum in {SUMS}"
            raise problem(str(top), text, CODE, "take a whole release")
        if is_wanted(path):
            files[path] = data
    return files


def _sums(name: str, listing: bytes) -> dict[str, str]:
    """The sum of each path, as sha256sum writes it."""
    sums: dict[str, str] = {}
    text = listing.decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.removesuffix("\n").split("\n"), 1):
        found = _LINE.fullmatch(line)
        path = found[2].removeprefix("./") if found else ""
        if not found or path in sums or number > REGISTRY_FILES:
            raise problem(name, f"line {number} is not as sha256sum writes it", CODE)
        check_path(name, path)
        sums[path] = found[1]
    return sums


def _paths_below(top: Path) -> Iterator[str]:
    """The paths of all files but SHA256SUMS and git's. Raises JobgenError for a link or a pipe."""

    def fail(error: OSError) -> None:
        raise problem(str(top), f"cannot be read: {error.strerror}: {error.filename}", CODE)

    count = 0
    for folder, folders, files in walk(top, fail):
        if folder == str(top) and ".git" in folders:
            folders.remove(".git")
        count += len(folders) + len(files)
        if count > REGISTRY_FILES:
            raise problem(str(top), f"more than {REGISTRY_FILES} files", CODE)
        for name in (*folders, *files):
            place = os.path.join(folder, name)
            path = os.path.relpath(place, top)
            mode = os.lstat(place).st_mode
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                kind = "a link" if stat.S_ISLNK(mode) else "no plain file"
                raise problem(str(top), f"{path!r:.80} is {kind}", CODE)
            if stat.S_ISREG(mode) and path not in (SUMS, ".git"):
                check_path(str(top), path)
                yield path


def _read_file(file: Path, most: int) -> bytes:
    """The bytes of a regular file. Raises JobgenError, also if it has more than `most`."""
    try:
        with open(os.open(file, os.O_RDONLY | os.O_NONBLOCK), "rb") as stream:
            if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
                raise problem(str(file), "is no plain file", CODE)
            data = stream.read(most + 1)
    except OSError as error:
        raise problem(str(file), f"cannot be read: {error.strerror}", "unreadable") from None
    if len(data) > most:
        raise problem(str(file), f"the release has more than {REGISTRY_BYTES} bytes", CODE)
    return data
