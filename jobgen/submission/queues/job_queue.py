"""A scheduler's queue: the commands to submit, query and cancel a job, and its status."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib import import_module
from typing import NamedTuple

from jobgen.submission.machine import HERE, Machine

_RUN = (
    *("RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"),
    *("RESIZING", "BEGUN", "EXITING"),
)

# Slurm's states of a job that was ended from outside, and the notes of one of PBS.
_OUTSIDE = re.compile(r"(\d+ )?(CANCELLED|DEADLINE|PREEMPTED|REVOKED|TIMEOUT)")
_OUTSIDE_NOTES = ("it never ran", "walltime exceeded")


def seconds_of(text: str, form: str) -> float:
    """The seconds since 1970 of a local time in an answer; 0 if it is none."""
    with suppress(ValueError, OverflowError):
        return time.mktime(time.strptime(text, form))
    return 0


class ArrayJob(NamedTuple):
    """One job of an array; a job that belongs to none has no number."""

    id: str
    exit_status: int | None
    number: str = ""
    output: str = ""


class JobStatus(NamedTuple):
    """The status of a job, with the scheduler's own words for its state."""

    state: str
    note: str = ""  # why the job waits, or how it ended
    restarts: int = 0
    elapsed: str = ""
    output: str = ""  # the path of the output file
    exit_status: int | None = None  # None until the job has ended
    array_jobs: tuple[ArrayJob, ...] = ()
    job: str = ""  # the id of a job that was followed, or submitted on another machine

    @property
    def is_running(self) -> bool:
        """Whether the job, or a job of the array, has nodes."""
        return any(word in self.state for word in _RUN)

    @property
    def outside(self) -> str:
        """How its record has it that it was ended from outside; "" if it was not, or has no end."""
        is_outside = all(map(_OUTSIDE.fullmatch, self.state.split(", ")))
        return "was ended from outside" if is_outside or self.note in _OUTSIDE_NOTES else ""

    def __str__(self) -> str:
        """The status as people read it, such as: RUNNING (restart 1), 0:10:00."""
        notes = [self.note, f"restart {self.restarts}" if self.restarts else ""]
        note = ", ".join(filter(None, notes))
        elapsed = f", {self.elapsed}" if self.elapsed else ""
        return f"{self.state} ({note}){elapsed}" if note else f"{self.state}{elapsed}"


class QueuedJob(NamedTuple):
    """A job in the queue, or one of an array, as a query about all of them shows it."""

    job: str  # 12, 12_3 (Slurm), 12.server, 12[].server, 12[3].server (PBS)
    status: JobStatus
    name: str = ""
    folder: str = ""  # in which it was submitted, or which its script names
    submitted: float = 0  # seconds since 1970


@dataclass(frozen=True)
class JobQueue:
    """A scheduler's commands to submit, query and cancel a job, and the machine that has them."""

    submit: tuple[str, ...]  # takes a script on stdin and prints the job's id
    queries: tuple[tuple[str, ...], ...]  # print a status; each is tried if those before it fail
    cancel: tuple[str, ...]
    id_pattern: str  # matches the line with the job's id, which may have the cluster, too
    unknown_job_pattern: str  # matches the error about a job that the scheduler has forgotten
    parse_status: Callable[[str], JobStatus | None]  # None if an answer has no status
    own_jobs_line: str  # a line of bash that prints all jobs of the user
    parse_own_jobs: Callable[[str], Iterator[QueuedJob]]  # raises ValueError
    ended: tuple[str, ...]  # prints the jobs whose ids follow, if these are kept after their ends
    parse_ended: Callable[[str], Iterator[QueuedJob]]
    id_separator: str = " "  # between these ids
    blocking_options: tuple[str, ...] = ()  # make `submit` wait and exit with the job's status
    machine: Machine = HERE

    def parse_id(self, line: str) -> tuple[str, str] | None:
        """The job's id and its cluster ("" for none) in a line; None if the line has no id."""
        found = re.fullmatch(self.id_pattern, line, re.ASCII)
        return (found["job"], found.groupdict().get("cluster") or "") if found else None

    def query_commands(self, job: str, cluster: str) -> list[tuple[str, ...]]:
        """The commands that print the status of a job, in the order to try them."""
        return [_about(job, cluster, words) for words in self.queries]

    def status(self, job: str, cluster: str, seconds: float) -> tuple[JobStatus | None, str]:
        """A job's status and "", or None and the errors; each query may take `seconds`."""
        errors = ""
        for words in self.query_commands(job, cluster):
            answer = self.machine.run(words, seconds=seconds)
            if status := self.parse_status(answer.output):
                return status, ""
            errors += answer.errors
        return None, errors

    def cancel_command(self, job: str, cluster: str) -> tuple[str, ...]:
        """The command that cancels a job."""
        return _about(job, cluster, self.cancel)


def _about(job: str, cluster: str, words: tuple[str, ...]) -> tuple[str, ...]:
    """The command for one job, with Slurm's option for a cluster; PBS has no clusters."""
    name, *rest = words
    return (name, *(("-M", cluster) if cluster else ()), *rest, job)


def get_queue(scheduler: str, machine: Machine = HERE) -> JobQueue:
    """The queue of the scheduler `slurm` or `pbs`, whose commands are on a machine."""
    queue: JobQueue = import_module(f"jobgen.submission.queues.{scheduler}_queue").QUEUE
    return replace(queue, machine=machine)
