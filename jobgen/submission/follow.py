"""Follows a submitted job until it ends."""

import re
import subprocess
from contextlib import suppress
from dataclasses import dataclass
from time import sleep
from typing import Protocol

from jobgen.errors import INTERRUPTED, ClosedPipe, JobgenError, report
from jobgen.scripts.write import write
from jobgen.submission.job_queue import JobQueue, JobStatus, run_query

FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 1.0, 1.2, 10.0  # seconds between two queries
MOST_FAILURES = 60  # queries in a row: about ten minutes
QUERY_SECONDS = 70.0  # PBS tries for 60 s to tell a qsub that its job has ended


class Display(Protocol):
    """Shows the status of one job to a person."""

    def show(self, status: JobStatus) -> None: ...
    def show_failure(self, text: str) -> None: ...
    def show_end(self, status: JobStatus) -> int: ...
    def finish(self, text: str) -> None: ...


def shell_status(status: int) -> int:
    """A status of Popen as a shell shows it: 128 + N for signal N."""
    return status if status >= 0 else 128 - status


@dataclass(frozen=True)
class SubmittedJob:
    """A job in the queue; `process` is the command that submitted it, if that waits for it."""

    id: str
    cluster: str
    queue: JobQueue
    process: subprocess.Popen[bytes] | None

    def announce(self) -> None:
        """Write the id, alone, to stdout; if that fails, report it on stderr and raise."""
        if self.cluster:
            command = self._cancel_command()
            report(f"job {self.id} is on the cluster {self.cluster}; to cancel it: {command}")
        try:
            write(f"{self.id}\n")
        except (JobgenError, ClosedPipe):
            report(f"the job is submitted: {self.id}")
            raise

    def follow(self, display: Display) -> int:
        """Show the job's status until it has ended; returns its exit status."""
        try:
            return self._follow(display)
        except KeyboardInterrupt:
            display.finish(f"it continues; to cancel it: {self._cancel_command()}")
            return INTERRUPTED

    def _follow(self, display: Display) -> int:
        pause, failures, last = FIRST_PAUSE, 0, JobStatus("UNKNOWN")
        exit_statuses: dict[str, int | None] = {}  # Slurm forgets an array's jobs one by one
        while True:
            status, error = self._query()
            if status:
                failures, last = 0, status
                exit_statuses.update(status.array_jobs)
                if status.exit_status is not None:
                    others = (each or 0 for each in exit_statuses.values())
                    worst = max(status.exit_status, *others, 0)
                    return display.show_end(status._replace(exit_status=worst))
                display.show(status)
            elif re.search(self.queue.UNKNOWN_JOB_PATTERN, error) or failures == MOST_FAILURES:
                return display.show_end(self._last_status(last, error))
            else:
                failures += 1
                display.show_failure(error)
            sleep(pause)
            pause = min(pause * GROWTH, LONGEST_PAUSE)

    def _query(self) -> tuple[JobStatus | None, str]:
        """The status, or None and the scheduler's error."""
        errors = ""
        for words in self.queue.query_commands(self.id, self.cluster):
            answer, error = run_query(words, QUERY_SECONDS)
            if status := self.queue.parse_status(answer):
                return status, ""
            errors += error
        return None, errors

    def _last_status(self, last: JobStatus, error: str) -> JobStatus:
        """The status of a job that the scheduler has forgotten."""
        if self.process:  # a waiting qsub ends with its job's status; with 3 if it was deleted
            with suppress(subprocess.TimeoutExpired):
                number = shell_status(self.process.wait(QUERY_SECONDS))
                note = f"exit status {number}"
                return JobStatus("ENDED", note, output=last.output, exit_status=number)
        reason = error.strip().partition("\n")[0]
        note = f"its exit status is not known: {reason}"
        return last._replace(state=f"{last.state} when last seen", note=note, exit_status=1)

    def _cancel_command(self) -> str:
        return " ".join(self.queue.cancel_command(self.id, self.cluster))
