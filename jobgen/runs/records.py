"""The record of a job: LOGS/JOBID.json, written at its submission, its begin and its end.

Each time the whole file is replaced, so that no reader sees a half. A copy of the job's script is
LOGS/scripts/SHA256.sh: it has the options, the name and the profile, which no record repeats.
"""

from __future__ import annotations

import hashlib
import json
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from jobgen.scripts.write import replace_file

LOGS = "jobgen-logs"
MOST_BYTES = 1_000_000  # of a record; a larger file is none


class Record(NamedTuple):
    """What is recorded of a job; times are seconds since 1970, and None is not known (yet)."""

    job: str
    script: str  # the SHA-256 of its text
    submitted: float | None = None
    made_of: str = ""  # versions and fingerprints, as in the script's header
    nodes: str = ""
    restarts: int = 0
    begin: float | None = None
    code: dict[str, Any] = {}  # noqa: RUF012  (a NamedTuple has no factory) name, commit, differs
    environment: str = ""
    end: float | None = None
    status: int | None = None
    outside: str = ""  # not "" if the job was ended from outside, such as by scancel
    versions: str = ""  # of torch, CUDA, NCCL and the driver
    folder: Path = Path(LOGS)  # which has the record


def read_records(logs: Path) -> list[Record]:
    """Returns the records in a folder of logs, in the order of their submission or begin.

    A file that is no record is passed over: anything may lie in that folder.
    """
    found = [each for path in logs.glob("*.json") if (each := _read(path))]
    return sorted(found, key=lambda each: (each.submitted or each.begin or 0, each.job))


def _read(path: Path) -> Record | None:
    with suppress(OSError, ValueError, RecursionError):
        with path.open("rb") as stream:
            values = json.loads(stream.read(MOST_BYTES))
        if isinstance(values, dict) and isinstance(values.get("job"), str):
            fields = {name: values[name] for name in Record._fields if name in values}
            return Record(**{**fields, "folder": path.parent})
    return None


def note_submission(logs: Path, job: str, script: bytes) -> None:
    """Write the record of a job that the scheduler has taken, and keep its script."""
    digits = hashlib.sha256(script).hexdigest()
    values = {"job": job, "script": digits, "submitted": round(time.time())}
    file = logs / "scripts" / f"{digits}.sh"
    if not file.exists():
        replace_file(file.absolute(), script, 0o600, sync=False, make_folders=True)
    data = json.dumps(values).encode() + b"\n"
    replace_file((logs / f"{job}.json").absolute(), data, 0o600, sync=False, make_folders=True)
