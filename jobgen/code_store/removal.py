"""What a store has, and how it is removed: copies of code, and environments of locks."""

from __future__ import annotations

import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jobgen.code_store.code_files import LIST_FILE
from jobgen.code_store.store import note_of
from jobgen.errors import problem
from jobgen.paths import effective_user, part_of, remove_dead

_NAME = re.compile("[0-9a-f]{8,64}")


class StoreEntry(NamedTuple):
    """A copy or an environment in a store; its files beside the folder have the same name."""

    path: Path

    @property
    def name(self) -> str:
        """Its name, which scripts and records have."""
        return self.path.name

    @property
    def used(self) -> float:
        """Its last use, in seconds since 1970: each script that is made sets its note's time."""
        times = [0.0]
        for each in (self.path, note_of(self.path), Path(f"{self.path}.squashfs")):
            with suppress(OSError):
                times.append(each.stat().st_mtime)
        return max(times)

    @property
    def note(self) -> dict[str, object]:
        """Where it is from; {} if that is not known."""
        with suppress(OSError, ValueError):
            note = json.loads(note_of(self.path).read_text(encoding="utf-8"))
            return note if isinstance(note, dict) else {}
        return {}

    def size(self) -> tuple[int, int]:
        """The number of its files, without those that describe it, and their bytes."""
        sizes = list[int]()
        for each in filter(note_of(self.path).__ne__, self._all()):
            names = [str(each)] if not each.is_dir() else []
            for folder, _, inner in os.walk(each):
                names += [os.path.join(folder, name) for name in inner if name != LIST_FILE]
            for name in names:
                with suppress(OSError):
                    sizes.append(os.lstat(name).st_size)
        return len(sizes), sum(sizes)

    def remove(self) -> None:
        """Remove it. Raises JobgenError if a part of it stays."""
        for each in self._all():
            with part_of(each) as hidden, suppress(OSError):  # at once: no job finds the half of it
                if each.is_dir():
                    each.chmod(0o700)
                each.rename(hidden)
            if os.path.lexists(each) or os.path.lexists(hidden):
                raise problem(str(each), "it cannot be removed", "output", "remove it yourself")

    def _all(self) -> list[Path]:
        beside = self.path.parent.glob(f"{self.name}.*")  # also archives of `stage: venv`
        return [path for path in (self.path, *beside) if os.path.lexists(path)]


def kept_in(store: Path) -> list[StoreEntry]:
    """What a store has of this user, the last used first. Raises JobgenError if it is no store."""
    folders = _folders(store)
    if not folders:
        text = f"{store} is no store: it has neither a folder code nor a folder environments"
        raise problem("store", text, "usage", "name the folder of software.store")
    found = {
        StoreEntry(folder / name)
        for folder in folders
        for each in folder.iterdir()
        if _NAME.fullmatch(name := each.name.partition(".")[0]) and not each.is_symlink()
        if each.lstat().st_uid == effective_user()  # root's queue does not know another's jobs
    }
    return sorted(found, key=lambda each: (-each.used, each.name))


def remove_parts(store: Path) -> None:
    """Remove what submissions that were killed left in a store."""
    for folder in _folders(store):
        remove_dead(folder)


def _folders(store: Path) -> list[Path]:
    return [store / name for name in ("code", "environments") if (store / name).is_dir()]
