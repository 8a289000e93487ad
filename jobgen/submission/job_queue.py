"""A scheduler's queue: the commands to submit, query and cancel a job, and its status."""

import subprocess
from collections.abc import Sequence
from importlib import import_module
from typing import NamedTuple, Protocol, cast


class JobStatus(NamedTuple):
    """The status of a job, in its scheduler's words."""

    state: str
    note: str = ""  # why it waits, or how it ended
    restarts: int = 0
    elapsed: str = ""
    output: str = ""  # the file
    exit_status: int | None = None  # None until the job has ended
    array_jobs: tuple[tuple[str, int | None], ...] = ()  # ids and exit statuses of an array's jobs

    @property
    def is_running(self) -> bool:
        """Whether it, or a job of an array, has nodes."""
        words = ("RUNNING", "SUSPENDED", "BEGUN", "EXITING", "COMPLETING")
        return any(word in self.state for word in words)

    def __str__(self) -> str:
        """Such as: RUNNING (restart 1), 0:10:00."""
        notes = [self.note, f"restart {self.restarts}" if self.restarts else ""]
        note = ", ".join(filter(None, notes))
        elapsed = f", {self.elapsed}" if self.elapsed else ""
        return f"{self.state} ({note}){elapsed}" if note else f"{self.state}{elapsed}"


class JobQueue(Protocol):
    """The names that the module of a scheduler's queue has."""

    SUBMIT: tuple[str, ...]  # the command that takes a script on stdin and prints the job's id
    BLOCKING_OPTIONS: tuple[str, ...]  # with them, it waits for the job and exits with its status
    UNKNOWN_JOB_PATTERN: str  # matches the answer about a job that the scheduler has forgotten

    @staticmethod
    def parse_id(line: str) -> tuple[str, str] | None:
        """The job's id and its cluster, or ""; None if `line` is something else."""

    @staticmethod
    def query_commands(job: str, cluster: str) -> tuple[tuple[str, ...], ...]:
        """Commands that print the status of a job; each is for when the one before it cannot."""

    @staticmethod
    def parse_status(answer: str) -> JobStatus | None:
        """The status in the output of such a command; None if it has none."""

    @staticmethod
    def cancel_command(job: str, cluster: str) -> tuple[str, ...]:
        """The command that cancels a job."""


def get_queue(scheduler: str) -> JobQueue:
    """The queue of a scheduler, slurm or pbs."""
    return cast(JobQueue, import_module(f"jobgen.submission.{scheduler}_queue"))


def run_query(words: Sequence[str], seconds: float) -> tuple[str, str]:
    """Returns (stdout, stderr); stderr has the reason if it cannot start or takes too long."""
    try:
        done = subprocess.run(
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return "", f"{error}\n"
    return done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
