"""Writes the page's folder: it appears as a whole, and has the same bytes each time."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from jobgen.errors import JobgenError, problem
from jobgen.page import packages as npm
from jobgen.page.archive import archive, licences
from jobgen.page.document import ASSETS, TEMPLATE, document
from jobgen.page.site import choices, site_files
from jobgen.paths import to_path

MARK = "files.json"  # lists all files of the folder, for the service worker and for the next time
ARCHIVE = "python.zip"


def page_files(
    packages: str, profiles: str | None = None, title: str | None = None, notes: str = ""
) -> dict[str, bytes]:
    """The files of the page by their paths. Raises JobgenError with all that is wrong."""
    own_profiles = site_files(profiles)
    files = {"index.html": document(choices(profiles), title, notes).encode("utf-8")}
    files |= {each.name: each.read_bytes() for each in ASSETS.iterdir() if each.name != TEMPLATE}
    files |= npm.runtime_files(packages)
    files["licences.txt"] = f"{npm.licences()}\n{licences()}".encode()
    files[ARCHIVE] = archive(own_profiles)
    listed = json.dumps(sorted([*files, MARK]), indent=0)
    return {**files, MARK: f"{listed}\n".encode()}


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
        if folder.is_dir():
            folder.rename(old)
        try:
            new.rename(folder)
        except OSError:
            with suppress(OSError):
                old.rename(folder)
            raise
        shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise _output_error(output, f"cannot be written: {error.strerror}") from None
    finally:
        shutil.rmtree(new, ignore_errors=True)


def _check_replaceable(output: str, folder: Path) -> None:
    """Raise JobgenError if the folder has a file that would be lost."""
    hint = "name a new folder, or an empty one"
    for path in (folder, *folder.parents):
        if os.path.lexists(path) and not path.is_dir():
            raise _output_error(output, f"{path.name} is a file, not a folder", hint)
    if not folder.is_dir():
        return
    present = {file.relative_to(folder).as_posix() for file in folder.rglob("*") if _is_leaf(file)}
    if others := sorted(present - _own_files(folder)):
        text = f"it has files that are not of such a page, such as {others[0]!r:.80}"
        raise _output_error(output, text, hint)


def _is_leaf(file: Path) -> bool:
    return file.is_symlink() or not file.is_dir()


def _own_files(folder: Path) -> set[str]:
    """The files that jobgen wrote into the folder."""
    try:
        listed = json.loads((folder / MARK).read_bytes())
    except (OSError, ValueError):
        return set()
    return {str(name) for name in listed} if isinstance(listed, list) else set()


def _output_error(output: str, text: str, hint: str = "") -> JobgenError:
    return problem(f"-o {output}", text, "output", hint)
