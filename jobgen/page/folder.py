"""Writes the page's folder: it appears as a whole, and has the same bytes each time."""

import hashlib
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from jobgen.errors import JobgenError, problem
from jobgen.page import packages as npm
from jobgen.page.archive import archive, licences
from jobgen.page.document import ASSETS, TEMPLATE, document
from jobgen.page.site import choices, site_files
from jobgen.paths import to_path

MARK = "files.json"  # the other files with their sums, for the service worker and for the next time
FORMAT = {"jobgen page": 1}  # how MARK begins: other programs write a files.json, too
ARCHIVE = "python.zip"
_OF_MARK = "own"  # instead of a checksum: MARK cannot have its own


def page_files(
    packages: str,
    profiles: str | None = None,
    title: str | None = None,
    notes: str = "",
    docs: str = "",
) -> dict[str, bytes]:
    """The files of the page by their paths; `docs` is the address of the documentation.

    Raises JobgenError with all that is wrong.
    """
    own_profiles = site_files(profiles)
    listed = choices(own_profiles, profiles)
    runtime = npm.runtime(packages)
    files = {each.name: each.read_bytes() for each in ASSETS.iterdir() if each.name != TEMPLATE}
    files |= {ARCHIVE: archive(own_profiles), **runtime.files}
    files["licences.txt"] = f"{licences()}\n{runtime.licences}".encode()
    downloads = {name: len(files[name]) for name in (*npm.FIRST, ARCHIVE)}
    files["index.html"] = document(listed, title, notes, docs, downloads).encode("utf-8")
    return {**files, MARK: mark_of(files)}


def mark_of(files: Mapping[str, bytes]) -> bytes:
    """What MARK holds for the other files."""
    sums = {name: hashlib.sha256(data).hexdigest() for name, data in sorted(files.items())}
    return f"{json.dumps({**FORMAT, 'files': sums}, indent=1)}\n".encode()


def write_folder(output: str, files: Mapping[str, bytes]) -> None:
    """Write the files as a folder; it replaces one that jobgen made, and an empty one.

    Raises JobgenError if it cannot be written, or has files of somebody else; then it has not
    changed.
    """
    folder = Path(os.path.realpath(to_path(output)))
    _check_replaceable(output, folder)
    suffix = os.urandom(8).hex()
    new, old = (folder.with_name(f".{folder.name}.{word}-{suffix}") for word in ("new", "old"))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            file = new / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        _exchange(folder, new, old)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        hint = f"the page before is in {old}" if old.is_dir() and not folder.exists() else ""
        raise _output_error(output, f"cannot be written: {error.strerror}", hint) from None
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _exchange(folder: Path, new: Path, old: Path) -> None:
    """Rename `folder` to `old`, and `new` to `folder`: if it fails or ends early, neither."""
    try:
        if folder.is_dir():
            folder.rename(old)
        new.rename(folder)
    except BaseException:  # Ctrl-C, too
        if old.is_dir() and not folder.exists():
            old.rename(folder)
        raise


def _check_replaceable(output: str, folder: Path) -> None:
    """Raise JobgenError if the folder has a file that would be lost."""
    hint = "name a new folder, or an empty one"
    for path in (folder, *folder.parents):
        if os.path.lexists(path) and not path.is_dir():
            raise _output_error(output, f"{path.name} is a file, not a folder", hint)
    sums = _sums(folder)
    for file in filter(_is_leaf, folder.rglob("*")):
        name = file.relative_to(folder).as_posix()
        if not _is_own(file, sums.get(name)):
            text = f"it has a file that is not of such a page, or was edited: {name!r:.80}"
            raise _output_error(output, text, hint)


def _is_leaf(file: Path) -> bool:
    return file.is_symlink() or not file.is_dir()


def _is_own(file: Path, checksum: str | None) -> bool:
    """Whether jobgen wrote the file as it is; a link or a device is never read."""
    if not checksum or file.is_symlink() or not file.is_file():
        return False
    return checksum == _OF_MARK or hashlib.sha256(file.read_bytes()).hexdigest() == checksum


def _sums(folder: Path) -> dict[str, str]:
    """The checksums of the files that jobgen wrote into the folder, by their paths."""
    try:
        mark = json.loads((folder / MARK).read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(mark, dict) or not isinstance(mark.get("files"), dict):
        return {}
    is_ours = mark.keys() == {*FORMAT, "files"} and mark.items() >= FORMAT.items()
    return {**mark["files"], MARK: _OF_MARK} if is_ours else {}


def _output_error(output: str, text: str, hint: str = "") -> JobgenError:
    return problem(f"-o {output}", text, "output", hint)
