"""A scheduler's queue: the commands to submit, query and cancel a job, and its status."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import NamedTuple

from jobgen.paths import effective_user
from jobgen.submission.machine import HERE, Machine, on_path

_SECONDS = 30.0
_SLURM_WAITS = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT")
_SLURM_RUNS = (
    *("RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED", "STOPPED", "SIGNALING", "STAGE_OUT"),
    "RESIZING",
)
_PBS = re.compile(r"^(\d+(?:\[\d*\])?)(?:\.\S*)?\s+.*\s([A-Z])\s+\S+\s*$", re.MULTILINE)


class JobStatus(NamedTuple):
    """The status of a job, with the scheduler's own words for its state."""

    state: str
    note: str = ""  # why the job waits, or how it ended
    restarts: int = 0
    elapsed: str = ""
    output: str = ""  # the path of the output file
    exit_status: int | None = None  # None until the job has ended
    array_jobs: tuple[tuple[str, int | None], ...] = ()  # ids and exit statuses of an array's jobs
    job: str = ""  # the id of a job that was followed, or submitted on another machine

    @property
    def is_running(self) -> bool:
        """Whether the job, or a job of the array, has nodes."""
        words = ("RUNNING", "SUSPENDED", "BEGUN", "EXITING", "COMPLETING")
        return any(word in self.state for word in words)

    def __str__(self) -> str:
        """The status as people read it, such as: RUNNING (restart 1), 0:10:00."""
        notes = [self.note, f"restart {self.restarts}" if self.restarts else ""]
        note = ", ".join(filter(None, notes))
        elapsed = f", {self.elapsed}" if self.elapsed else ""
        return f"{self.state} ({note}){elapsed}" if note else f"{self.state}{elapsed}"


@dataclass(frozen=True)
class JobQueue:
    """A scheduler's commands to submit, query and cancel a job, and the machine that has them."""

    submit: tuple[str, ...]  # takes a script on stdin and prints the job's id
    queries: tuple[tuple[str, ...], ...]  # print a status; each is tried if those before it fail
    cancel: tuple[str, ...]
    id_pattern: str  # matches the line with the job's id, which may have the cluster, too
    unknown_job_pattern: str  # matches the error about a job that the scheduler has forgotten
    parse_status: Callable[[str], JobStatus | None]  # None if an answer has no status
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


def own_jobs(machine: Machine = HERE) -> dict[str, bool] | None:
    """Whether each job of the user runs (True) or waits, by its number: 12, 12_3, 12[3].

    None if there is no scheduler, or if it does not answer.
    """
    schedulers = on_path(("squeue", "qstat"), machine)
    if "squeue" in schedulers:
        user = machine.run(("id", "-un")).output.strip() if machine.name else effective_user()
        shape = ("--noheader", "--array", "--format=%i|%T")
        answer = machine.run(("squeue", *shape, f"--user={user}"), seconds=_SECONDS)
        rows = [line.partition("|") for line in answer.output.splitlines()]
        alive = (*_SLURM_WAITS, *_SLURM_RUNS)  # $SQUEUE_STATES may add jobs that have ended
        jobs = {job: state in _SLURM_RUNS for job, _, state in rows if state in alive}
    elif schedulers:
        answer = machine.run(("qstat", "-t"), seconds=_SECONDS)  # of all users: ids are unique
        found = [each for each in _PBS.findall(answer.output) if each[1] not in "FX"]
        jobs = {job: state not in "QHWT" for job, state in found}
    else:
        return None
    return jobs if answer.status == 0 else None
