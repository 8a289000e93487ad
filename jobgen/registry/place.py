"""Where a release is kept, beside the user's own profiles, and how it is replaced at once.

    ~/.config/jobgen/registry/current -> 0123456789ab-6f7e8d    a link, which is replaced
    ~/.config/jobgen/registry/0123456789ab-6f7e8d/profiles/…    made whole before the link names it

A process that reads profiles follows the link once. So the release before stays for a day.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from jobgen import __version__
from jobgen.errors import problem
from jobgen.paths import part_of, registry_folder, remove, settings_folder

if TYPE_CHECKING:
    from jobgen.registry.release import Release

_LINK, _NOTE = "current", "release.json"
_DAY = 86400.0  # seconds
_HEXADECIMAL = 12  # digits of the checksum in a folder's name


class Taken(NamedTuple):
    """The release that is in use: its name, its checksum, the day, and the jobgen that took it."""

    name: str
    sha256: str
    day: str
    jobgen: str

    def __str__(self) -> str:
        text = f"{self.name} (SHA-256 {self.sha256[:_HEXADECIMAL]}…), taken on {self.day}"
        return text if self.jobgen == __version__ else f"{text} by jobgen {self.jobgen}"


def release_in_use() -> Taken | None:
    """The release of the registry in use; None without one."""
    try:
        values = json.loads((registry_folder() / _NOTE).read_bytes())
        return Taken(*(str(values[name]) for name in Taken._fields))
    except (OSError, ValueError, LookupError, TypeError, RecursionError):
        return None


def write_files(folder: Path, release: Release) -> None:
    """Write the files of a release below a folder, which has none of them."""
    note = Taken(release.name, release.sha256, date.today().isoformat(), __version__)
    files = {**release.files, _NOTE: json.dumps(note._asdict()).encode()}
    for path, data in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as stream:
            stream.write(data)


def take(release: Release) -> None:
    """Put a release in the place of the one before: whole, or not at all. Raises JobgenError."""
    place = _store() / f"{release.sha256[:_HEXADECIMAL]}-{os.urandom(3).hex()}"
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with part_of(place) as part:
            write_files(part, release)
            for each in (part, *part.rglob("*")):
                _sync(each)
            part.rename(place)
        old = registry_folder()
        with suppress(OSError):  # there is none
            os.utime(old)
        with part_of(_store() / _LINK) as link:
            link.symlink_to(place.name)
            link.replace(_store() / _LINK)
        _sync(_store())
        _remove_others({place.name, old.name})
    except OSError as error:
        raise _unwritable(error) from None


def remove_registry() -> None:
    """Remove the release in use, and those before it. Raises JobgenError."""
    try:
        if _store().is_dir():
            (_store() / _LINK).unlink(missing_ok=True)
            _remove_others(set(), age=0)
    except OSError as error:
        raise _unwritable(error) from None


def _store() -> Path:
    return settings_folder() / "registry"


def _remove_others(names: set[str], age: float = _DAY) -> None:
    """Remove releases that are not named, and that nobody has taken or replaced for some time."""
    for each in [*_store().iterdir()]:
        is_release = not each.is_symlink() and (each / _NOTE).is_file()
        if is_release and each.name not in names and time.time() - each.stat().st_mtime >= age:
            remove(each)


def _sync(path: Path) -> None:
    """Wait until a file or a folder would survive a crash of the machine."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _unwritable(error: OSError) -> Exception:
    text = f"cannot be written: {error.strerror}"
    return problem(str(_store()), text, "output", "nothing has changed")
