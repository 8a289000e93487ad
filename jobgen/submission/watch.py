"""The user's jobs in a queue, for many who ask: those who ask close together share one query."""

import re
from collections.abc import Mapping
from threading import Lock
from time import monotonic
from typing import NamedTuple, Protocol

from jobgen.errors import problem
from jobgen.submission.follow import QUERY_SECONDS
from jobgen.submission.machine import HERE
from jobgen.submission.queues.job_queue import JobStatus, get_queue
from jobgen.submission.queues.own_jobs import (
    by_number,
    ended_jobs,
    number_of,
    own_jobs,
    which_run,
)


class View(NamedTuple):
    """What a queue has shown."""

    statuses: Mapping[str, JobStatus]  # by the number of the job, or of its array
    running: Mapping[str, bool]  # as `which_run` has it
    begun: float = 0  # when the query began, and ended: seconds of `monotonic`
    ended: float = 0


class Watch(Protocol):
    """Shows a queue, or a process that stands for one."""

    @property
    def longest_pause(self) -> float:
        """The seconds between two looks of one who waits."""

    def look(self, most_age: float, since: float) -> View:
        """A view that is at most so old, in seconds, and was begun after `since`.

        Raises NoAnswer.
        """

    def end_of(self, job: str, cluster: str) -> JobStatus | None:
        """How a job that has left the queue has ended, as far as anybody knows. Raises NoAnswer."""

    def cancel(self, job: str, cluster: str) -> None:
        """Cancel a job; nothing happens to one that is not known. Raises JobgenError."""


class QueueWatch:
    """Shows the queue of a scheduler on this machine."""

    longest_pause = HERE.longest_pause

    def __init__(self, scheduler: str) -> None:
        self._scheduler = scheduler
        self._lock = Lock()
        self._view = View({}, {}, begun=-1)

    def look(self, most_age: float, since: float) -> View:
        with self._lock:  # others wait here for the answer to the first one's query
            is_old = monotonic() - self._view.ended > most_age
            if is_old or self._view.begun < since:
                begun = monotonic()
                jobs = own_jobs(self._scheduler)
                self._view = View(by_number(jobs), which_run(jobs), begun, monotonic())
            return self._view

    def end_of(self, job: str, cluster: str) -> JobStatus | None:
        status, _ = get_queue(self._scheduler).status(job, cluster, QUERY_SECONDS)
        if status and status.exit_status is not None:
            return status
        return ended_jobs(self._scheduler, [job]).get(number_of(job))

    def cancel(self, job: str, cluster: str) -> None:
        queue = get_queue(self._scheduler)
        answer = HERE.run(queue.cancel_command(job, cluster), seconds=QUERY_SECONDS)
        if answer.status and not re.search(queue.unknown_job_pattern, answer.errors):
            raise problem("cancel", f"{queue.cancel[0]} did not do it: {answer.reason}", "queue")
