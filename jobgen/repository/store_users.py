"""Which records and scripts below some folders name what is kept in a store."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from jobgen.errors import JobgenError
from jobgen.repository.files import find_files, read_script, report_unreadable
from jobgen.runs.records import SCRIPTS, Record, read_records


def find_users(folders: Iterable[str], names: Iterable[str]) -> dict[str, list[str]]:
    """Those that need each of the names: `job 12` for its record, or the path of a script."""
    found: dict[str, list[str]] = {name: [] for name in names}
    logs, scripts = set[Path](), list[tuple[Path, Path]]()
    for path, real in find_files(folders, report_unreadable, with_logs=True):
        if path.suffix == ".json":
            logs.add(Path(real).parent)
        else:
            scripts.append((path, Path(real).parent))
    for each in sorted(logs):
        for record in read_records(each):
            for name in _named_by(record, found):
                found[name].append(f"job {record.job}")
    for path, folder in scripts:
        # The copy of a script is needed as long as the record of its job is there.
        if folder.name == SCRIPTS and folder.parent in logs:
            continue
        with suppress(JobgenError):
            for name in _named_in(read_script(path), found):
                found[name].append(str(path))
    return found


def _named_by(record: Record, names: Iterable[str]) -> list[str]:
    """The names that a job used, by its record and by the copy of its script."""
    used = {str(record.code.get("name", ""))}
    with suppress(JobgenError):
        used.update(_named_in(read_script(record.script_file), names))
    return [name for name in names if name in used]


def _named_in(data: bytes, names: Iterable[str]) -> list[str]:
    return [name for name in names if name.encode() in data]
