"""The record of a job: LOGS/JOBID.json, written at its submission, its begin and its end.

Each time the whole file is replaced, so that no reader sees a half. A copy of the job's script is
LOGS/scripts/SHA256.sh: it has the options, the name and the profile, which no record repeats.
A record may be a stranger's: what is not as it should be counts as not known.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from errno import EFBIG, EINVAL
from pathlib import Path
from typing import Any, NamedTuple

from jobgen.bounds import RECORD_BYTES
from jobgen.scripts.write import write_private

LOGS = "jobgen-logs"
SCRIPTS = "scripts"  # the folder in it with copies of scripts
_HOSTS = "hosts"  # the folder in it with one for each host that jobs were sent to (--host)
_COPY = re.compile(r"[0-9a-f]{64}\.sh")  # of a script
_LAST_TIME = 1e11  # seconds since 1970; later ones are no dates for Python
_READY = re.compile(r".* is ready(?:, \S+ on \S+)?: |, \d+ cores.*")


class Record(NamedTuple):
    """What is recorded of a job; times are seconds since 1970, and None is not known (yet)."""

    job: str
    script: str  # the SHA-256 of its text; "" if it has run from a pipe
    submitted: float | None = None
    nodes: str = ""
    logs: str = ""  # the name of its folder with logs; "" if it has not begun
    begin: float | None = None
    code: Mapping[str, Any] = {}  # of its copy: name, commit, …
    end: float | None = None
    status: int | None = None
    outside: str = ""  # not "" if the job was ended from outside, such as by scancel
    versions: str = ""  # of torch, CUDA, NCCL and the driver
    folder: Path = Path(LOGS)  # which has the record
    logs_there: str = ""  # the folder with its own record on its host; it may have $NAME

    @property
    def restarts(self) -> int:
        """How often Slurm has started it again: its folder is then JOBID.1, JOBID.2, …"""
        found = re.fullmatch(r"[\d_]+\.(\d{1,6})", self.logs)
        return int(found[1]) if found else 0

    @property
    def succeeded(self) -> bool:
        """Whether it has ended well, and is not about to begin again."""
        return self.status == 0 and not self.outside

    @property
    def script_file(self) -> Path:
        """The copy of its script."""
        return self.folder / SCRIPTS / f"{self.script}.sh"

    @property
    def host(self) -> str:
        """The login node that it was submitted on by ssh; "" for a job of this machine."""
        return self.folder.name if self.folder.parent.name == _HOSTS else ""

    @property
    def job_folder(self) -> Path | None:
        """The folder with its logs; None if it has not begun. After a success, it is gone."""
        is_name = re.fullmatch(r"[\w.-]*[\w-][\w.-]*", self.logs)
        return self.folder / self.logs if is_name else None


def logs_folder(folder: Path) -> Path:
    """The folder with the records of a folder that jobs were submitted from, or itself."""
    return folder / LOGS if (folder / LOGS).is_dir() else folder


def logs_of_host(logs: Path, name: str) -> Path:
    """The folder for the records of a host's jobs: two clusters may have a job 12."""
    return logs / _HOSTS / name


def with_hosts(logs: Path) -> list[Path]:
    """A folder with records, and those in it for jobs of hosts."""
    return [logs, *sorted((logs / _HOSTS).glob("*"))]


def left_by_jobs(folder: str, folders: Iterable[str], files: Iterable[str]) -> set[str]:
    """Those of the folders in a folder that have scripts which ran, not scripts to submit.

    A folder of logs may have any name (--log-dir), and scripts of a user beside it. So in a folder
    with copies of scripts, which are named by their SHA-256, a job's folder is one with a record.
    """
    found, names = {LOGS}.intersection(folders), {*files}
    if SCRIPTS in folders and any(map(_COPY.fullmatch, _names_in(os.path.join(folder, SCRIPTS)))):
        of_jobs = (name for name in folders if f"{re.sub('[.][0-9]+$', '', name)}.json" in names)
        found.update((SCRIPTS, *of_jobs))
    return found


def _names_in(folder: str) -> list[str]:
    with suppress(OSError):
        return os.listdir(folder)
    return []


def read_records(logs: Path) -> list[Record]:
    """Returns the records in a folder of logs, in the order of their submission or begin.

    A file that is no record is passed over: anything may lie in that folder.
    """
    found = [each for path in logs.glob("*.json") if (each := _read(path))]
    return sorted(found, key=_order)


def records_of(logs: Path, job: str) -> list[Record]:
    """The records in a folder of logs of a job, and of all jobs of its array."""
    number = re.split(r"[._\[]", job)[0]
    found = [each for path in logs.glob(f"{number}[._]*json") if (each := _read(path))]
    own = (each for each in found if re.split(r"[._\[]", each.job)[0] == number)
    return sorted(own, key=_order)


def _order(record: Record) -> tuple[float, int, str]:
    """By the time; jobs of the same second by their numbers."""
    number = re.split("[^0-9]", record.job)[0]
    return record.submitted or record.begin or 0, len(number), record.job


def _read(path: Path) -> Record | None:
    with suppress(OSError, ValueError, RecursionError):
        values = _values(path)
        if isinstance(values, dict) and isinstance(values.get("job"), str):
            return _record(values, path.parent)
    return None


def _values(path: Path) -> Any:
    text = read_plain(path, RECORD_BYTES).decode("utf-8", "replace")
    return json.loads(text, strict=False)  # a job quotes what torch printed, with any character


def _record(values: dict[str, Any], folder: Path) -> Record:
    def text(name: str) -> str:
        return value if isinstance(value := values.get(name), str) else ""

    def number(name: str) -> Any:
        value = values.get(name)
        if not isinstance(value, (int, float)) or isinstance(value, bool):
            return None
        return value if abs(value) < _LAST_TIME else None  # not NaN either

    status, code = number("status"), values.get("code")
    code = code if isinstance(code, dict) else {}
    made_of = code.get("of")  # what the store says of it
    code = {**(made_of if isinstance(made_of, dict) else {}), **code}
    return Record(
        # The number of a job of PBS's array has brackets, which no file's name should have.
        job=re.sub(r"^(\d+)_(\d*)_(?=\.|$)", r"\1[\2]", text("job")),
        script=text("script") if re.fullmatch("[0-9a-f]{64}", text("script")) else "",
        submitted=number("submitted"),
        nodes=text("nodes"),
        logs=text("logs"),
        begin=number("begin"),
        code={name: value for name, value in code.items() if isinstance(value, (str, bool))},
        end=number("end"),
        status=status if isinstance(status, int) else None,
        outside=text("outside"),
        versions=_READY.sub("", text("ready")),
        folder=folder,
        logs_there=text("logs_there"),
    )


def read_plain(path: Path, most: int) -> bytes:
    """The bytes of a regular file; no link is followed, and no pipe waited for.

    Raises OSError, also for a file of more than so many bytes.
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
    with open(os.open(path, flags), "rb") as stream:
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            raise OSError(EINVAL, "it is no regular file", str(path))
        data = stream.read(most + 1)
        if len(data) > most:
            raise OSError(EFBIG, os.strerror(EFBIG), str(path))
        return data


def _file_of(logs: Path, job: str) -> Path:
    return logs / f"{re.sub('[^A-Za-z0-9._-]', '_', job)}.json"


def keep_script(logs: Path, script: bytes) -> str:
    """Keep a copy of a script beside the records; returns the SHA-256 of its text."""
    digits = hashlib.sha256(script).hexdigest()
    file = logs / SCRIPTS / f"{digits}.sh"
    if not file.exists():
        write_private(file, script, make_folders=True)
    return digits


def note_submission(logs: Path, job: str, script: bytes, logs_there: str = "") -> None:
    """Write the record of a job that the scheduler has taken, and keep its script.

    A job that has begun, or has even ended, has written its own record, which stays. `logs_there`
    is the folder that has this on the job's host.
    """
    values: dict[str, Any] = {"job": job, "script": keep_script(logs, script)}
    values["submitted"] = round(time.time())
    if logs_there:
        values["logs_there"] = logs_there
    file = _file_of(logs, job)
    new = file.with_name(f".{file.name}.new")
    write_private(new, _as_json(values), make_folders=True)
    with suppress(FileExistsError):
        os.link(new, file)
    os.unlink(new)


def note_end(record: Record, status: int, outside: str) -> None:
    """Note the end that the scheduler tells of a job that could not write it itself."""
    _add(record, {"end": round(time.time()), "status": status, "outside": outside})


def note_place(record: Record) -> None:
    """Note again what its submission noted here: the job's own record, which came, does not say it.

    That may be a stranger's: what is no record stays as it is.
    """
    values = {"submitted": record.submitted, "logs_there": record.logs_there}
    with suppress(OSError, ValueError, TypeError, RecursionError):
        _add(record, {name: value for name, value in values.items() if value})


def _add(record: Record, values: dict[str, Any]) -> None:
    file = _file_of(record.folder, record.job)
    old = _values(file)
    if (new := old | values) != old:
        write_private(file, _as_json(new))


def _as_json(values: dict[str, Any]) -> bytes:
    return json.dumps(values).encode() + b"\n"
