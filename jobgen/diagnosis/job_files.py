"""Finds a job's output by the job's id, and what the scheduler knows of the job's end.

This module runs the scheduler's own commands, as a person would: scontrol and sacct, or qstat.
Their answers become facts: lines such as `sacct: State=TIMEOUT JobID=12 …`, which the signs of
the classes match like lines of a log.
"""

import os
import re
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from glob import escape, glob
from pathlib import Path
from typing import TypeVar

from jobgen.diagnosis.answers.scheduler import control_fact, pbs_fact, value_in
from jobgen.diagnosis.files import is_job_folder
from jobgen.errors import problem
from jobgen.runs.records import LOGS, read_records
from jobgen.submission.machine import HERE, Machine
from jobgen.submission.queues import pbs_queue, slurm_queue
from jobgen.submission.queues.job_queue import JobQueue, JobStatus
from jobgen.submission.queues.slurm_accounting import (
    Query,
    expand_pattern,
    fact,
    output_paths,
    query_accounting,
)

QUERY_SECONDS = 30.0  # limit for a command: without an answer, scontrol would wait longer

_SLURM_ID = re.compile(r"(?P<job>\d+(?:_\d+|\+\d+)?)(?:;(?P<cluster>[\w.-]+))?", re.ASCII)
_PBS_ID = re.compile(r"\d+(?:\[\d*\])?(?:\.[A-Za-z][\w.-]*)?", re.ASCII)
_Record = TypeVar("_Record")
_HINT = "name the files of its output instead"


@dataclass(frozen=True)
class JobFiles:
    """The files of a job, and its facts: lines with what the scheduler knows of the job."""

    paths: tuple[str, ...]
    facts: tuple[str, ...]
    missing: tuple[str, ...] = ()  # files that the job should have, but that are not here
    folders: tuple[str, ...] = ()  # where the job was submitted
    status: JobStatus | None = None  # of a job that has not ended

    @property
    def numbers(self) -> list[str]:
        """The numbers of the job in the scheduler's facts."""
        return re.findall(r"\bJobId=(\d+)", "\n".join(self.facts))


def is_job_id(text: str) -> bool:
    """Whether a text looks like a job's id: 12, 12_3, 12;cluster (Slurm), 12.server, 12[3].pbs."""
    return bool(_SLURM_ID.fullmatch(text) or _PBS_ID.fullmatch(text))


def find_job_files(job_id: str, machine: Machine = HERE) -> JobFiles:
    """The files of a job's output that are here, and the facts that its scheduler knows.

    The scheduler is asked on `machine`; files that are there alone are `missing`. Raises
    JobgenError if no scheduler answers, or if none knows the job.
    """
    errors: list[str] = []
    slurm = _SLURM_ID.fullmatch(job_id)
    ask = partial(_query, errors=errors, machine=machine)
    if slurm and (found := _ask_slurm(slurm["job"], slurm["cluster"] or "", ask)):
        return found
    if _PBS_ID.fullmatch(job_id) and (found := _ask_pbs(job_id, ask)):
        return found
    reasons = "; ".join(dict.fromkeys(error.strip() for error in errors if error.strip()))
    here = sorted(Path().glob(f"*[-.]*{job_id}.*"))[:1] if job_id.isdigit() else []
    hint = f"{_HINT}, such as {here[0]}" if here else _HINT
    raise problem(job_id, f"no scheduler knows this job: {reasons}", "job", hint)


def queue_of(job_id: str) -> tuple[JobQueue, str, str] | None:
    """The queue that is here for a job, the job's id in it, and the cluster; None without one."""
    slurm = _SLURM_ID.fullmatch(job_id)
    for queue, found in ((slurm_queue.QUEUE, slurm), (pbs_queue.QUEUE, _PBS_ID.fullmatch(job_id))):
        if found and shutil.which(queue.cancel[0]):
            names = found.groupdict()
            return queue, names.get("job") or job_id, names.get("cluster") or ""
    return None


def find_job_folder(job_id: str, logs: Sequence[str] = (LOGS,)) -> str:
    """The folder that a job left in one of these folders of logs; "" if there is none.

    For a requeued job, this is the folder of the last try: JOBID, JOBID.1, … For an array, it is
    that of its last job that left one, which has a number of its own: the records know it.
    """
    number = re.split(r"[.;]", job_id)[0]
    for folder in logs:
        pattern = os.path.join(escape(folder), f"{escape(number)}*")
        found = {path: _try(path, number) for path in glob(pattern)}
        tries = [path for path, order in found.items() if order and is_job_folder(path)]
        if tries:
            return max(tries, key=lambda path: found[path] or (0, 0.0))
    found_by_record = (_recorded_folder(Path(folder), number) for folder in logs)
    return next(filter(None, found_by_record), "")


def _recorded_folder(logs: Path, number: str) -> str:
    """The folder of a job of an array, or of the last job of this array; "" if there is none."""
    pattern = rf"{re.escape(number.removesuffix('[]'))}([._\[].*)?"  # PBS adds the server's name
    own = (each.job_folder for each in read_records(logs) if re.fullmatch(pattern, each.job))
    return next((str(path) for path in reversed([*own]) if path and is_job_folder(str(path))), "")


def _try(path: str, number: str) -> tuple[int, float] | None:
    """A sort key for the folders of a job's tries, last try last; None for another job's folder."""
    rest = os.path.basename(path)[len(number) :]
    if not re.fullmatch(r"(?:\.\d{1,6}|\.[A-Za-z][\w.-]*)?", rest):
        return None
    last = rest.rpartition(".")[2]
    return int(last) if last.isdecimal() else 0, os.lstat(path).st_mtime


def _query(words: tuple[str, ...], errors: list[str], machine: Machine) -> str:
    """The answer of a command; if there is no answer, the reason is appended to `errors`."""
    if not machine.name and not shutil.which(words[0]):
        errors.append(f"there is no {words[0]} on PATH")
        return ""
    answer = machine.run(words, seconds=QUERY_SECONDS)
    if not answer.output.strip():
        is_silent = not answer.errors.strip()
        errors.append(f"{words[0]} does not know it" if is_silent else answer.reason)
    return answer.output


# ---- Slurm ----


def _ask_slurm(job: str, cluster: str, ask: Query) -> JobFiles | None:
    """What scontrol and sacct know: scontrol forgets a job soon, sacct knows the job's steps."""
    records: list[str] = []
    for words in slurm_queue.QUEUE.query_commands(job, cluster):
        records = records or slurm_queue.split_records(ask(words))
    accounting = query_accounting(job, cluster, ask)
    if not records and not accounting:
        return None
    of_state = [(value_in(record, "JobState"), record) for record in records]
    paths = [path for record in _not_well(of_state) for path in _control_paths(record)]
    if not paths:
        jobs = [(each["State"], each) for each in accounting if "." not in each["JobID"]]
        paths = output_paths(_not_well(jobs), ask)
    facts = [*map(control_fact, records), *filter(None, map(fact, accounting))]
    folders = [slurm_queue.find_field(record, r"WorkDir=(.*)$") for record in records]
    status = slurm_queue.parse_status("\n\n".join(records))
    return _found(paths, facts, folders, status)


def _not_well(jobs: Sequence[tuple[str, _Record]]) -> list[_Record]:
    """The records of an array's jobs, each given behind its state, that did not end well.

    They are all records if all ended well: `why` then says so.
    """
    return [own for state, own in jobs if state != "COMPLETED"] or [own for _, own in jobs]


def _control_paths(record: str) -> list[str]:
    """The output files in a record of scontrol, which expands most patterns in names itself."""
    values = {
        "j": value_in(record, "JobId"),
        "A": value_in(record, "ArrayJobId"),
        "a": value_in(record, "ArrayTaskId"),
        "u": value_in(record, "UserId").partition("(")[0],
        "x": value_in(record, "JobName"),
        "N": slurm_queue.find_field(record, r"BatchHost=(\S+)"),
    }
    names = [slurm_queue.find_field(record, rf"{name}=(.*)$") for name in ("StdOut", "StdErr")]
    folder = slurm_queue.find_field(record, r"WorkDir=(.*)$")
    return [expand_pattern(name, values, folder) for name in names if name]


# ---- PBS ----


def _ask_pbs(job: str, ask: Query) -> JobFiles | None:
    for words in pbs_queue.QUEUE.query_commands(job, ""):
        attributes = pbs_queue.parse_attributes(answer := ask(words))
        if "job_state" in attributes:
            found = re.search(r"(?:^|,)PBS_O_WORKDIR=([^,]+)", attributes.get("Variable_List", ""))
            folders = [found[1]] if found else []
            is_over = attributes["job_state"] in "FMXC"  # C: Torque; X: an ended array job
            status = None if is_over else pbs_queue.parse_status(answer)
            return _found(_pbs_paths(attributes), [pbs_fact(attributes)], folders, status)
    return None


def _pbs_paths(attributes: dict[str, str]) -> list[str]:
    output = pbs_queue.file_of(attributes, "Output_Path", "OU")
    error = pbs_queue.file_of(attributes, "Error_Path", "ER")
    names = {"oe": [output], "eo": [error]}.get(attributes.get("Join_Path", ""), [output, error])
    return [path for name in names if name for path in _array_paths(name, attributes)]


def _array_paths(name: str, attributes: dict[str, str]) -> list[str]:
    """The files of one job of an array; the files of all its jobs, if the id is the array's."""
    if "^array_index^" not in name:
        return [name]
    found = re.match(r"\d+\[(\d*)\]", attributes.get("Job Id", ""))
    index = attributes.get("array_index", "") or (found[1] if found else "")
    if index:
        return [name.replace("^array_index^", index)]
    return sorted(glob("[0-9]*".join(map(escape, name.split("^array_index^")))))


# ---- both ----


def _found(
    paths: Iterable[str], facts: Iterable[str], folders: Iterable[str], status: JobStatus | None
) -> JobFiles:
    unique = [path for path in dict.fromkeys(paths) if path != "/dev/null"]
    here = [path for path in unique if Path(path).is_file()]
    missing = tuple(path for path in unique if path not in here)
    lines = tuple(" ".join(line.split()) for line in facts)
    running = status if status and status.exit_status is None else None
    return JobFiles(tuple(here), lines, missing, tuple(filter(None, folders)), running)
