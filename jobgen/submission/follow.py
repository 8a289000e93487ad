"""Follows a job until it ends, and shows its status on stderr.

On a terminal, the status is one line, which is rewritten; elsewhere, each change is a new line.
"""

import json
import os
import re
import subprocess
import sys
import unicodedata
from contextlib import suppress
from dataclasses import dataclass
from time import sleep

from jobgen.errors import INTERRUPTED, ClosedPipe, JobgenError, report
from jobgen.quoting import names_set, quote_path
from jobgen.runs.chains import ChainEvent, last_event
from jobgen.scripts.write import write
from jobgen.submission.chain import advice, end_of_chain
from jobgen.submission.queues.job_queue import ArrayJob, JobQueue, JobStatus
from jobgen.submission.queues.own_jobs import number_of

FIRST_PAUSE, GROWTH = 1.0, 1.2  # seconds between two queries; the longest is the machine's
MOST_FAILURES = 60  # failed queries in a row, about ten minutes, before following ends
QUERY_SECONDS = 70.0  # PBS tries for 60 s to tell a qsub that its job has ended
TAIL_BYTES = 8192  # bytes at the end of the output, in which the last line is searched
# Control sequences of ECMA-48, such as colours; other unprintable characters are removed singly.
_ESCAPES = re.compile(r"\x1b\[[0-?]*[ -/]*[@-~]")


class Progress:
    """Shows the status of one job, or of what else `subject` names, on stderr."""

    def __init__(self, subject: str) -> None:
        self.subject = subject
        self.shown: object = None
        self.is_terminal = can_rewrite()

    def show(self, status: JobStatus) -> None:
        """Show the status of a job that has not ended, on a terminal with its last output line."""
        text, output = str(status), last_line(status.output)
        self.rewrite((status.state, status.restarts), text, f"{text}  {output}")

    def show_failure(self, error: str) -> None:
        """Show the error of a query that failed."""
        text = f"the query failed, retrying: {' '.join(error.split())}"
        self.rewrite("failure", text, text)

    def rewrite(self, state: object, line: str, rewritten: str) -> None:
        """Rewrite the line on a terminal; elsewhere, write a new line if the state has changed."""
        if self.is_terminal:
            sys.stderr.write(f"\r{fitting(f'{self.subject}: {rewritten}')}\x1b[K")
            sys.stderr.flush()
        elif state != self.shown:
            report(f"{self.subject}: {line}")
        self.shown = state

    def clear(self) -> None:
        """Remove what a terminal shows of the status."""
        if self.is_terminal:
            sys.stderr.write("\r\x1b[K")

    def add_line(self, text: str) -> None:
        """Write a line that stays."""
        self.clear()
        report(f"{self.subject}: {text}")


def shell_status(status: int) -> int:
    """The exit status that a shell shows for a status of Popen: 128 + N for signal N."""
    return status if status >= 0 else 128 - status


@dataclass(frozen=True)
class FollowedJob:
    """A job in the queue; `process` is the submitting command if that waits for the job's end."""

    id: str
    cluster: str
    queue: JobQueue
    process: subprocess.Popen[bytes] | None
    logs: str = ""  # the folder with the job's record; it may have $NAME

    def announce(self) -> None:
        """Write the id alone to stdout. If stdout fails, report the id on stderr, and raise."""
        if self.cluster:
            command = self._cancel_command()
            report(f"job {self.id} is on the cluster {self.cluster}; to cancel it: {command}")
        try:
            write(f"{self.id}\n")
        except (JobgenError, ClosedPipe):
            report(f"the job is submitted: {self.id}")
            raise

    def follow(self, progress: Progress | None = None) -> JobStatus:
        """Show the job's status until the job has ended; returns the last status."""
        progress = progress or Progress(f"job {self.id}")
        try:
            status = self._follow(progress)
        except KeyboardInterrupt:
            progress.add_line(f"it continues; to cancel it: {self._cancel_command()}")
            return JobStatus("", exit_status=INTERRUPTED)
        event = self._event_of_chain(status)
        status = end_of_chain(status, event) if event else _of_failed_job(status)
        output = status.output.replace("^array_index^", "*")  # of all jobs of an array of PBS
        progress.add_line(f"{status}; output: {output}" if output else str(status))
        if event:
            report(f"chain {number_of(self.id)}: {event.text}{advice(event, number_of(self.id))}")
        return status._replace(job=self.id)

    def _follow(self, progress: Progress) -> JobStatus:
        pause, failures, last = FIRST_PAUSE, 0, JobStatus("UNKNOWN")
        # A laptop may be without a network for hours: then the person decides.
        most_failures = None if self.queue.machine.name else MOST_FAILURES
        array_jobs: dict[str, ArrayJob] = {}  # Slurm forgets an array's jobs one by one
        while True:
            status, error = self.queue.status(self.id, self.cluster, QUERY_SECONDS)
            if status:
                array_jobs |= {job.id: job for job in status.array_jobs}
                status = status._replace(array_jobs=tuple(array_jobs.values()))
                failures, last = 0, status
                if status.exit_status is not None:
                    others = (job.exit_status or 0 for job in status.array_jobs)
                    return status._replace(exit_status=max(status.exit_status, *others, 0))
                progress.show(status)
            elif re.search(self.queue.unknown_job_pattern, error) or failures == most_failures:
                return self._last_status(last, error)
            else:
                failures += 1
                progress.show_failure(error)
            sleep(pause)
            pause = min(pause * GROWTH, self.queue.machine.longest_pause)

    def _last_status(self, last: JobStatus, error: str) -> JobStatus:
        """The status of a job that the scheduler has forgotten."""
        if self.process:  # a waiting qsub exits with its job's status; with 3 if the job is deleted
            with suppress(subprocess.TimeoutExpired):
                number = shell_status(self.process.wait(QUERY_SECONDS))
                note = f"exit status {number}"
                return JobStatus("ENDED", note, output=last.output, exit_status=number)
        if (recorded := self._recorded_status()) is not None:
            note = f"exit status {recorded}"
            return JobStatus("ENDED", note, output=last.output, exit_status=recorded)
        reason = error.strip().partition("\n")[0]
        note = f"its exit status is not known: {reason}"
        return last._replace(state=f"{last.state} when last seen", note=note, exit_status=1)

    def _recorded_status(self) -> int | None:
        """The exit status in the record that the job left; None if there is none."""
        with suppress(ValueError, AttributeError, RecursionError):
            status = json.loads(self._text_of(f"{self.id}.json")).get("status")
            return status if isinstance(status, int) else None
        return None

    def _event_of_chain(self, status: JobStatus) -> ChainEvent | None:
        """The last event of a chain; None for a job that is none."""
        is_array = "[" in self.id or any(job.number for job in status.array_jobs)
        return last_event(self._text_of(f"chain-{number_of(self.id)}")) if is_array else None

    def _text_of(self, name: str) -> str:
        """The text of a file that the job left in its folder of records; "" if there is none."""
        if not self.logs:
            return ""
        line = f'{names_set(self.logs)}cat -- {quote_path(self.logs)}/"$0"'
        return self.queue.machine.run(("bash", "-c", line, name), seconds=QUERY_SECONDS).output

    def _cancel_command(self) -> str:
        return self.queue.machine.shown(self.queue.cancel_command(self.id, self.cluster))


def _of_failed_job(status: JobStatus) -> JobStatus:
    """The status of an array with the output of its first job that failed."""
    failed = (job.output for job in status.array_jobs if job.exit_status and job.output)
    return status._replace(output=next(failed, status.output))


def last_line(file: str) -> str:
    """The last line of a file that is not blank; "" if all are, or if no such file is here."""
    try:
        if not os.path.isfile(file):  # opening a pipe would wait for its writer
            return ""
        with open(file, "rb") as stream:
            stream.seek(max(os.path.getsize(file) - TAIL_BYTES, 0))
            lines = re.split(r"[\r\n]+", stream.read().decode("utf-8", "replace"))
    except (OSError, ValueError):
        return ""
    return next((line for line in reversed(lines) if line.strip()), "")


def can_rewrite() -> bool:
    """Whether stderr is a terminal whose lines can be rewritten."""
    is_there = sys.stderr is not None and sys.stderr.isatty()
    return is_there and os.environ.get("TERM") != "dumb"


def fitting(text: str) -> str:
    """The start of a line that fits into the terminal, which may not know its size."""
    width = os.get_terminal_size(sys.stderr.fileno()).columns or 80
    return shorten(displayable(text, sys.stderr.encoding), width - 1)


def displayable(text: str, encoding: str) -> str:
    """`text` without control characters; a character that the terminal cannot show becomes `?`."""
    plain = _ESCAPES.sub("", text).replace("\t", " ")
    shown = "".join(character for character in plain if character.isprintable())
    return shown.encode(encoding, "replace").decode(encoding)


def shorten(text: str, columns: int) -> str:
    """The start of `text` that fits into a number of terminal columns."""
    for place, character in enumerate(text):
        if unicodedata.category(character) not in ("Mn", "Me"):
            columns -= 2 if unicodedata.east_asian_width(character) in "WF" else 1
        if columns < 0:
            return text[:place]
    return text
