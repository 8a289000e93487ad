"""Reads the archive of a release, which may be hostile: no member is ever unpacked to a disk."""

import gzip
import io
import tarfile
import zlib
from collections.abc import Iterator

from jobgen.bounds import REGISTRY_BYTES, REGISTRY_FILES
from jobgen.errors import problem
from jobgen.registry.layout import CODE, check_path, is_wanted
from jobgen.untrusted_input import ends_within_bounds

# What the standard library raises for an archive that is damaged or made to do harm.
_WRONG = (tarfile.TarError, zlib.error, OSError, EOFError, ValueError, OverflowError, LookupError)


def files_of_archive(name: str, data: bytes) -> dict[str, bytes]:
    """The files of a .tar.gz that belong to the layout of a release, by their paths.

    Raises JobgenError for an archive that has anything but plain files and folders.
    """
    if not ends_within_bounds(_members, name, data):
        raise problem(name, "it takes too long or too much memory to read", CODE)
    return _members(name, data)


def _members(name: str, data: bytes) -> dict[str, bytes]:
    try:
        return _below_one_folder(dict(_read(name, data)))
    except _WRONG as error:
        text = f"is no .tar.gz, or damaged: {type(error).__name__}: {error}"
        hint = "take the .tar.gz of the release" if not data.startswith(b"\x1f\x8b") else ""
        raise problem(name, text, CODE, hint) from None


def _read(name: str, data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yields the path of each file; its bytes, if it may belong to the layout."""
    with gzip.GzipFile(fileobj=io.BytesIO(data)) as stream:
        tar = stream.read(REGISTRY_BYTES + 1)
    if len(tar) > REGISTRY_BYTES:
        raise problem(name, f"more than {REGISTRY_BYTES} bytes when unpacked", CODE)
    seen: set[str] = set()
    with tarfile.open(fileobj=io.BytesIO(tar), mode="r:", encoding="utf-8") as archive:
        while member := archive.next():
            path = _path_of(name, member)
            if path in seen:
                raise problem(name, f"the member {path!r:.80} is there twice", CODE)
            seen.add(path)
            if len(seen) > REGISTRY_FILES:
                raise problem(name, f"more than {REGISTRY_FILES} members", CODE)
            if member.isreg():
                stream_of_file = archive.extractfile(member) if is_wanted(path, depth=1) else None
                yield path, stream_of_file.read() if stream_of_file else b""
        if tar[archive.offset :].strip(b"\0"):  # tarfile ends at such a header without an error
            raise problem(name, "is damaged: not all of it is members", CODE)


def _path_of(name: str, member: tarfile.TarInfo) -> str:
    """The path of a member. Raises JobgenError if it could lead, or point, to another place."""
    if not (member.isdir() or (member.isreg() and not member.issparse())):
        kind = "a link" if member.issym() or member.islnk() else "no plain file"
        raise problem(name, f"the member {member.name!r:.80} is {kind}", CODE)
    path = "/".join(part for part in member.name.split("/") if part not in ("", "."))
    if member.name.startswith("/"):
        path = f"/{path}"
    check_path(name, path or ".")
    return path or "."


def _below_one_folder(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files that belong to the layout; the folder that all members may be in is left out."""
    tops = {path.partition("/")[0] for path in files}
    if len(tops) == 1 and tops != {"profiles"}:
        files = {path.partition("/")[2]: data for path, data in files.items()}
    return {path: data for path, data in files.items() if is_wanted(path)}
