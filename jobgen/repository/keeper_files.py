"""The keepers beside a manifest: files that its scripts name; `build` and `check` write them."""

import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from jobgen.errors import JobgenError, printable
from jobgen.keeper.carried import FOLDER, keeper_files, named_files
from jobgen.paths import is_outside, repository
from jobgen.repository.script_files import files_below, read_script
from jobgen.scripts.write import remove, rewrite, write

MISSING, CHANGED = "missing", "changed"


def keepers_of(script: str, manifest: str, data: bytes) -> list[Path]:
    """The files that a script's bytes name, from its path without links and its header's manifest.

    None outside of the script's repository: the header may be untrusted.
    """
    names = named_files(data) if manifest else ()
    if not names:
        return []
    folder = Path(os.path.normpath(os.path.join(os.path.dirname(script), manifest))).parent
    within = repository(Path(script).parent)
    if within is None or is_outside(folder, within):
        return []
    shown = min(folder, Path(os.path.relpath(folder)), key=lambda path: len(str(path)))
    return [shown / FOLDER / name for name in sorted(names)]


def wrong_keepers(paths: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """The files that are not what jobgen makes, and their state.

    Those of another jobgen are left out: their scripts are stale, and nobody has the text.
    """
    for path in paths:
        if path.name in keeper_files() and (state := _state(path, keeper_files()[path.name])):
            yield path, state


def _state(path: Path, wanted: bytes) -> str:
    try:
        found = os.lstat(path)
        # Opening a pipe would wait for its writer; a huge file takes all memory.
        is_same = stat.S_ISREG(found.st_mode) and found.st_size == len(wanted)
        return "" if is_same and path.read_bytes() == wanted else CHANGED
    except FileNotFoundError:
        return MISSING
    except OSError:
        return CHANGED


def write_keeper(path: Path) -> None:
    """Write the file again. Raises JobgenError."""
    rewrite(path, _real(path), keeper_files()[path.name])


def write_keepers(folder: Path, names: Iterable[str], dry_run: bool) -> bool:
    """Write the named files that are wrong; returns whether there are any. Raises JobgenError."""
    wrong = list(wrong_keepers(folder / FOLDER / name for name in sorted(names)))
    for path, _ in wrong:
        if not dry_run:
            write_keeper(path)
        write(f"{printable(str(path))}: {'would be ' * dry_run}written\n")
    return bool(wrong)


def prune_keepers(
    folder: Path, names: Iterable[str], folders: Iterable[Path], going: set[str], dry_run: bool
) -> bool:
    """Remove the files that no script names any more; returns whether there are any.

    Scripts in `folders` that are not of the manifest count, too, without those that are `going`.
    """
    found = (folder / FOLDER).glob(f"keeper-{'[0-9a-f]' * 16}.py")
    obsolete = {path for path in found if path.name not in set(names)}
    if obsolete:
        named = _names_below(folders, going)
        obsolete = {path for path in obsolete if path.name not in named}
    for path in sorted(obsolete):
        if not dry_run:
            remove(path, _real(path))
        write(f"{printable(str(path))}: {'would be ' * dry_run}removed\n")
    return bool(obsolete)


def _names_below(folders: Iterable[Path], without: set[str]) -> set[str]:
    names: set[str] = set()
    for folder in folders:
        for path, real in files_below(folder, lambda error: None):
            if real not in without:
                with suppress(JobgenError):
                    names |= named_files(read_script(path))
    return names


def _real(path: Path) -> str:
    """The path without links, but for the two last parts, which may be no links."""
    return os.path.join(os.path.realpath(path.parent.parent), FOLDER, path.name)
