"""What a store has, and how it is removed: copies of code, and environments of locks."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jobgen.code_store.store import note_of, remove_folder
from jobgen.errors import problem
from jobgen.paths import effective_user

FOLDERS = ("code", "environments")  # of a store
_NAME = re.compile("[0-9a-f]{8,64}")
_PARTS = re.compile(r"\.[0-9a-f]{8,64}\..+")  # what a submission that was killed left
_OLD = 24 * 3600.0  # seconds after which nobody writes there


class StoreEntry(NamedTuple):
    """A copy or an environment in a store; its files beside the folder have the same name."""

    path: Path
    used: float  # seconds since 1970

    @property
    def name(self) -> str:
        """Its name, which scripts and records have."""
        return self.path.name

    @property
    def note(self) -> dict[str, object]:
        """Where it is from; {} if that is not known."""
        with suppress(OSError, ValueError):
            note = json.loads(note_of(self.path).read_text(encoding="utf-8"))
            return note if isinstance(note, dict) else {}
        return {}

    def size(self) -> tuple[int, int]:
        """The number of its files, and their bytes."""
        found = [status.st_size for each in self._all() for status in _files(each)]
        return len(found), sum(found)

    def remove(self) -> None:
        """Remove it. Raises JobgenError if a part of it stays."""
        for each in self._all():
            if each.is_dir() and not each.is_symlink():
                hidden = each.with_name(f".{self.name}.{os.urandom(6).hex()}")
                with suppress(OSError):  # at once: no job finds the half of it
                    each.chmod(0o700)
                    each.rename(hidden)
                    each = hidden
                remove_folder(each)
            with suppress(OSError):
                each.unlink(missing_ok=True)
            if os.path.lexists(each):
                raise problem(str(each), "it cannot be removed", "output", "remove it yourself")

    def _all(self) -> list[Path]:
        beside = self.path.parent.glob(f"{self.name}.*")  # also archives of `stage: venv`
        return [path for path in (self.path, *beside) if os.path.lexists(path)]


def kept_in(store: Path) -> list[StoreEntry]:
    """What a store has of this user, the last used first. Raises JobgenError if it is no store."""
    folders = [store / name for name in FOLDERS if (store / name).is_dir()]
    if not folders:
        text = f"{store} is no store: it has neither a folder code nor a folder environments"
        raise problem("store", text, "usage", "name the folder of software.store")
    names = {(folder, each.name.partition(".")[0]) for folder in folders for each in _own(folder)}
    found = [
        StoreEntry(path, _last_use(path))
        for folder, name in names
        if _NAME.fullmatch(name) and not (path := folder / name).is_symlink()
    ]
    return sorted(found, key=lambda each: (-each.used, each.name))


def remove_parts(store: Path) -> None:
    """Remove what submissions that were killed left in a store, more than a day ago."""
    for folder in (store / name for name in FOLDERS if (store / name).is_dir()):
        for each in _own(folder):
            if _PARTS.fullmatch(each.name) and time.time() - each.stat().st_mtime > _OLD:
                remove_folder(folder / each.name)


def _own(folder: Path) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for each in entries:
            if each.stat(follow_symlinks=False).st_uid == effective_user():
                yield each


def _last_use(path: Path) -> float:
    """The time of a copy, or of the file beside it, whose time each submission sets."""
    times = [0.0]
    for each in (path, note_of(path), Path(f"{path}.squashfs")):
        with suppress(OSError):
            times.append(each.stat().st_mtime)
    return max(times)


def _files(path: Path) -> Iterator[os.stat_result]:
    if not path.is_dir():
        yield path.lstat()
    for folder, _, names in os.walk(path):
        for name in names:
            with suppress(OSError):
                yield os.lstat(os.path.join(folder, name))
