"""The attempts of a job: how often it was submitted, in which form, and how that ended."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import itemgetter

from jobgen.campaign.forms import Form
from jobgen.campaign.jobs import Job
from jobgen.runs.records import Record
from jobgen.submission.ending import Submitted
from jobgen.submission.queues.job_queue import JobStatus


@dataclass(eq=False)
class Attempt:
    """A job in the queue, or one that was there; all jobs of an array are one attempt."""

    job: Job
    id: str
    form: Form  # of its script
    records: list[Record] = field(default_factory=list)
    of_queue: JobStatus | None = None  # what its scheduler has said of it

    @property
    def submitted(self) -> Submitted:
        """What decides how it has ended."""
        return Submitted(self.id, self.job.logs, self.job.array, self.job.is_chain)

    @property
    def number(self) -> str:
        """The job's number, by which its queue is read."""
        return self.submitted.number

    @property
    def order(self) -> int:
        """A later job has a higher number; the clocks of nodes may differ."""
        return int(self.number) if self.number.isdecimal() else 0

    @property
    def is_queued(self) -> bool:
        """Whether it waits or runs."""
        return self.of_queue is not None and self.of_queue.exit_status is None

    @property
    def status(self) -> int | None:
        """The exit status, the worst of an array; None if it has none yet, or nobody knows it."""
        return self.submitted.status(self.records, self.of_queue)

    def note_end(self) -> None:
        """Keep what the scheduler knows, and soon forgets, of a job that wrote no end itself."""
        self.submitted.note_end(self.records, self.of_queue)


@dataclass
class State:
    """The state of a job: its attempts, by their numbers, in whatever form of its script."""

    job: Job
    attempts: list[Attempt] = field(default_factory=list)
    forms: Sequence[Form] = ()  # of which a copy was kept
    misses: int = 0  # queries in a row after which nobody knew how its last attempt has ended

    @property
    def attempt(self) -> Attempt | None:
        """The one that counts: of the form of the last one, that which succeeded, or the last one.

        If the job has succeeded in the form that its script has now, no other one counts.
        """
        if not self.attempts:
            return None
        last = self.attempts[-1]
        done = [each for each in self.attempts if each.status == 0]
        now = (each for each in done if each.form == self.job.form)
        return next(now, next((each for each in done if each.form == last.form), last))

    @property
    def exit_status(self) -> int | None:
        """None if the job has not ended, or if nobody knows how."""
        return self.attempt.status if self.attempt else None

    @property
    def succeeded(self) -> bool:
        return self.exit_status == 0

    @property
    def is_queued(self) -> bool:
        return not self.succeeded and self.attempt is not None and self.attempt.is_queued

    @property
    def is_running(self) -> bool:
        queued = self.attempt.of_queue if self.attempt and self.is_queued else None
        return queued is not None and queued.is_running

    @property
    def is_unknown(self) -> bool:
        """Whether the job may have succeeded, and nobody knows: the plain script notes no end."""
        has_left = self.attempt is not None and not self.is_queued
        return has_left and self.exit_status is None and not self.job.keeps_record

    def is_due(self, changed: bool = False) -> bool:
        """Whether the job is to be submitted; with `changed`, also after a success before that."""
        if self.is_queued:
            return False
        may_have_succeeded = self.succeeded or self.is_unknown
        return not may_have_succeeded or (changed and bool(self.changes))

    @property
    def reason(self) -> str:
        """Why it is to be submitted."""
        if self.attempt is None:
            return "not submitted yet"
        status = self.exit_status
        if self.changes and status == 0:
            return f"job {self.attempt.id} was before a change of {', '.join(sorted(self.changes))}"
        end = "ended without a word" if status is None else f"ended with status {status}"
        return f"job {self.attempt.id} {end}"

    @property
    def changes(self) -> set[str]:
        """The parts of its script that have changed since it was submitted."""
        return self.job.form.changes(self.attempt.form) if self.attempt else set()

    @property
    def last_copy(self) -> tuple[float, Form]:
        """When a copy of its script was kept last, in whatever form, and in which; 0 for never."""
        times = [(0.0, self.job.form)]
        for form in (self.job.form, *self.forms):
            with suppress(OSError):
                times.append((self.job.copy_of(form).stat().st_mtime, form))
        return max(times, key=itemgetter(0))
