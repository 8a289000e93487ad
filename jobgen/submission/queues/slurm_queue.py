"""Slurm's queue: sbatch, scontrol show job, scancel; for many jobs squeue and sacct."""

import re
from collections.abc import Iterator
from functools import partial

from jobgen.submission.queues.job_queue import ArrayJob, JobQueue, JobStatus, QueuedJob, seconds_of


def parse_status(answer: str) -> JobStatus | None:
    """The status in `scontrol show job`.

    For an array: all states, the worst exit status, and the output of a job that runs.
    """
    jobs = [_record_status(record) for record in split_records(answer)]
    if len(jobs) < 2:
        return jobs[0] if jobs else None
    states = [job.state for job in jobs]
    ended = [job.exit_status for job in jobs if job.exit_status is not None]
    return jobs[0]._replace(
        state=", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)),
        note="",
        restarts=sum(job.restarts for job in jobs),
        output=next((job for job in jobs if job.is_running), jobs[0]).output,
        exit_status=max(ended) if len(ended) == len(jobs) else None,
        array_jobs=tuple(each for job in jobs for each in job.array_jobs),
    )


# These states are final: while a job is ending, scontrol shows COMPLETING.
_FINAL = frozenset(
    "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED LAUNCH_FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED"
    " RECONFIG_FAIL REVOKED TIMEOUT".split()
)


def find_field(record: str, pattern: str) -> str:
    """The first group of a pattern that begins a line, or "" without a match.

    The first line is not searched: it has the job's name, which may look like a field.
    """
    found = re.search(rf"^ +{pattern}", record, re.MULTILINE)
    return found[1] if found else ""


def split_records(answer: str) -> list[str]:
    """The records of `scontrol show job`, one for each job of an array."""
    return [text for text in re.split(r"\n\s*\n", answer) if "JobState=" in text]


def _record_status(record: str) -> JobStatus:
    field = partial(find_field, record)
    state, reason = field(r"JobState=(\w+)"), field(r"JobState=.*? Reason=(.*?)(?: Dependency=|$)")
    code = int(field(r"Requeue=.*? ExitCode=(\d{1,9}):") or 0)
    signal = int(field(r"Requeue=.*? ExitCode=\d+:(\d{1,9})") or 0) if state == "FAILED" else 0
    end = f"exit code {code}" if code else f"signal {signal}" if signal else ""
    status = 0 if state == "COMPLETED" else code or (128 + signal if signal else 1)
    ids = re.search(r"JobId=(\d+)(?: ArrayJobId=\d+ ArrayTaskId=(\S+))?", record)
    number, index = ids.groups("") if ids else ("", "")
    exit_status, output = status if state in _FINAL else None, field(r"StdOut=(.*)$")
    wait_reason = reason if state == "PENDING" and reason != "None" else ""
    return JobStatus(
        state=state,
        note=end if state in _FINAL else wait_reason,
        restarts=int(field(r"Requeue=.*? Restarts=(\d{1,9})") or 0),
        elapsed=field(r"RunTime=(\S+)") if state != "PENDING" else "",
        output=output,
        exit_status=exit_status,
        array_jobs=(ArrayJob(number, exit_status, index, output),),
    )


# These would hide jobs from squeue, or change how it prints a time.
_UNSET = (
    "unset SLURM_TIME_FORMAT SQUEUE_PARTITION SQUEUE_ACCOUNT SQUEUE_QOS SQUEUE_NAMES"
    " SQUEUE_LICENSES"
)
_SEPARATOR = "\x1f"  # a name may have any other character
# It also shows jobs that have ended, for MinJobAge, whose default is five minutes.
_SQUEUE = "squeue --noheader --all --array --states=all"
_FORMAT = _SEPARATOR.join(["%i", "%T", "%M", "%r", "%j", "%Z", "%V"])
_TIME = "%Y-%m-%dT%H:%M:%S"


def parse_own_jobs(answer: str) -> Iterator[QueuedJob]:
    """The jobs in the lines of `squeue`; other lines are passed over."""
    for line in answer.splitlines():
        words = line.split(_SEPARATOR)
        if len(words) == 7:
            job, state, elapsed, reason, name, folder, submitted = words
            reason = reason if state == "PENDING" and reason != "None" else ""
            status = _status(state, reason, "" if state == "PENDING" else elapsed)
            yield QueuedJob(job, status, name, folder, seconds_of(submitted, _TIME))


def parse_ended(answer: str) -> Iterator[QueuedJob]:
    """The jobs in the lines of `sacct`, which adds by whom a job was cancelled."""
    for line in answer.splitlines():
        job, _, state = line.partition("|")
        if state:
            yield QueuedJob(job, _status(state.split(" ")[0].strip("+")))


def _status(state: str, note: str = "", elapsed: str = "") -> JobStatus:
    exit_status = int(state != "COMPLETED") if state in _FINAL else None
    return JobStatus(state, note, elapsed=elapsed, exit_status=exit_status)


QUEUE = JobQueue(
    submit=("sbatch", "--parsable"),  # without --wait, which exits with 0 after the loss of a node
    # scontrol knows a job until MinJobAge after its end; sacct is not on every site.
    queries=(("scontrol", "show", "job"),),
    cancel=("scancel",),
    id_pattern=r"(?P<job>\d+)(?:;(?P<cluster>\S+))?",
    unknown_job_pattern="Invalid job id specified",
    parse_status=parse_status,
    own_jobs_line=f'{_UNSET}; {_SQUEUE} --user="$(id -u)" --format="{_FORMAT}"',
    parse_own_jobs=parse_own_jobs,
    ended=("sacct", "-X", "--noheader", "--parsable2", "--format=JobID,State", "--jobs"),
    parse_ended=parse_ended,
    id_separator=",",
)
