"""What is known of each job of a manifest: from the records, and from one query of the queue."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from jobgen.campaign.jobs import Job, array_size
from jobgen.runs.records import Record, note_end, read_records
from jobgen.submission.machine import Machine
from jobgen.submission.queues.job_queue import JobStatus
from jobgen.submission.queues.many_jobs import array_of, query_ended, query_states

Query = Callable[[str, Sequence[str], Machine], dict[str, JobStatus]]


@dataclass
class Attempt:
    """A job in the queue, or one that was there; all jobs of an array are one attempt."""

    id: str
    records: list[Record] = field(default_factory=list)

    @property
    def number(self) -> int:
        """The job's number: that of a later job is higher."""
        found = re.match(r"\d+", self.id)
        return int(found[0]) if found else 0

    def status(self, job: Job, of_queue: JobStatus | None = None) -> int | None:
        """The exit status, the worst of an array; None if it has none yet, or nobody knows it.

        The records come first: a scheduler knows no status of some jobs, and forgets the others.
        """
        recorded = self._chain_status(job) if job.is_chain else self._recorded(job)
        if recorded is not None or of_queue is None or of_queue.exit_status is None:
            return recorded
        return 1 if job.is_chain else of_queue.exit_status  # it has ended, and is not done

    def _recorded(self, job: Job) -> int | None:
        of_tasks = [_status(each) for each in self.records if each.job != self.id]
        own = next((_status(each) for each in self.records if each.job == self.id), None)
        if not job.array or own is not None:
            return own
        ends = [status for status in of_tasks if status is not None]
        return max(ends) if len(ends) == len(of_tasks) >= array_size(job.array) else None

    def _chain_status(self, job: Job) -> int | None:
        """0 if the training is done, 1 if its chain was stopped, None if it goes on."""
        try:
            text = (job.logs / f"chain-{self.number}").read_text("utf-8", "replace")
        except OSError:
            return None
        ends = re.findall(r"^\S+ job \d+ (is done|stopped|goes on|began)", text, re.MULTILINE)
        return {"is done": 0, "stopped": 1}.get(ends[-1] if ends else "")

    def note_end(self, job: Job, of_queue: JobStatus | None) -> None:
        """Keep what the scheduler knows, and soon forgets, of a job that wrote no end itself."""
        is_silent = self.status(job) is None
        for record in self.records:
            if record.job == self.id and of_queue and is_silent:
                with suppress(OSError, ValueError):
                    note_end(record, of_queue.exit_status or 0)


def _status(record: Record) -> int | None:
    """The exit status of a job; one that was ended from outside, with whatever status, failed."""
    return 1 if record.outside and record.status == 0 else record.status


@dataclass
class State:
    """The state of a job: it succeeded, or is in the queue with a status, or `reason` says more."""

    job: Job
    attempt: Attempt | None = None  # the one that succeeded, or the last one
    earlier: tuple[str, ...] = ()  # the ids of all attempts
    succeeded: bool = False
    status: JobStatus | None = None  # of a job in the queue
    reason: str = "not submitted yet"
    is_unknown: bool = False  # whether the job may have succeeded, and nobody knows

    @property
    def is_missing(self) -> bool:
        """Whether the job is to be submitted."""
        return not (self.succeeded or self.status or self.is_unknown)


def attempts_by_digest(logs: Iterable[Path]) -> dict[str, dict[str, Attempt]]:
    """The attempts in some folders of records, by the SHA-256 of their script and by their id."""
    found: dict[str, dict[str, Attempt]] = {}
    for record in (each for folder in logs for each in read_records(folder)):
        own, job = found.setdefault(record.script, {}), array_of(record.job)
        own.setdefault(job, Attempt(job)).records.append(record)
    return found


def read_states(jobs: Sequence[Job], machine: Machine) -> list[State]:
    """The state of each job, by one query for all of them. Raises NoAnswer.

    A job that has ended with a status other than 0 may be in the queue again, by --requeue.
    """
    attempts = attempts_by_digest({job.logs: None for job in jobs})
    states = []
    for job in jobs:
        found = attempts.get(job.digest, {}).values()
        own = sorted(found, key=lambda each: each.number)
        done = next((each for each in own if each.status(job) == 0), None)
        earlier = tuple(each.id for each in own)
        states.append(State(job, done or (own[-1] if own else None), earlier, bool(done)))
    tried = {state.attempt.id: state for state in states if state.attempt and not state.succeeded}
    shown = ask_all(query_states, [(each.job, name) for name, each in tried.items()], machine)
    silent = [
        (state.job, name)
        for name, state in tried.items()
        if state.attempt and name not in shown and state.attempt.status(state.job) is None
    ]
    shown |= ask_all(query_ended, silent, machine)
    for name, state in tried.items():
        _settle(state, shown.get(name))
    return states


def _settle(state: State, of_queue: JobStatus | None) -> None:
    """Complete the state of a job that was submitted and of which no success is recorded."""
    assert state.attempt
    if of_queue and of_queue.exit_status is None:
        state.status = of_queue
        return
    status = state.attempt.status(state.job, of_queue)
    state.attempt.note_end(state.job, of_queue)
    state.succeeded = status == 0
    state.is_unknown = status is None and not state.job.keeps_record
    end = "ended without a word" if status is None else f"ended with status {status}"
    state.reason = f"job {state.attempt.id} {end}"


def ask_all(
    query: Query, jobs: Sequence[tuple[Job, str]], machine: Machine
) -> dict[str, JobStatus]:
    """The answers to a query about the ids of jobs; one query for each scheduler."""
    ids: dict[str, list[str]] = {}
    for job, name in jobs:
        ids.setdefault(job.scheduler, []).append(name)
    found: dict[str, JobStatus] = {}
    for scheduler, names in ids.items():
        found |= query(scheduler, names, machine)
    return found
