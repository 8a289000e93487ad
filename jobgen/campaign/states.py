"""What is known of each job of a manifest: from the records, and from one query of each queue."""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter
from pathlib import Path

from jobgen.campaign.forms import Form, kept_forms
from jobgen.campaign.jobs import Job, array_size
from jobgen.errors import report
from jobgen.quoting import quote_path
from jobgen.remote.files import fetch_logs
from jobgen.runs.records import Record, note_end, note_submission, read_records
from jobgen.submission.chain import DONE_FOR_GOOD, chain_status, last_event, read_state
from jobgen.submission.login import Login
from jobgen.submission.machine import Machine
from jobgen.submission.queues.job_queue import JobStatus, QueuedJob
from jobgen.submission.queues.own_jobs import array_of, by_number, ended_jobs, number_of, own_jobs


@dataclass(eq=False)
class Attempt:
    """A job in the queue, or one that was there; all jobs of an array are one attempt."""

    id: str
    records: list[Record] = field(default_factory=list)
    of_queue: JobStatus | None = None  # what its scheduler has said of it

    @property
    def number(self) -> str:
        """The job's number, by which its queue is read."""
        return number_of(self.id)

    @property
    def order(self) -> int:
        """A later job has a higher number; the clocks of nodes may differ."""
        return int(self.number) if self.number.isdecimal() else 0

    @property
    def is_queued(self) -> bool:
        """Whether it waits or runs."""
        return self.of_queue is not None and self.of_queue.exit_status is None

    def status(self, job: Job) -> int | None:
        """The exit status, the worst of an array; None if it has none yet, or nobody knows it.

        The records come first: a scheduler knows no status of some jobs, and forgets the others.
        """
        recorded = self._recorded(job)
        if recorded is not None or self.of_queue is None or self.is_queued:
            return recorded
        return 1 if job.is_chain else self.of_queue.exit_status  # it has ended, and is not done

    def _recorded(self, job: Job) -> int | None:
        if job.is_chain:
            status = chain_status(last_event(read_state(job.logs / f"chain-{self.number}")))
            return 0 if status == DONE_FOR_GOOD else status
        of_tasks = [_status(each) for each in self.records if each.job != self.id]
        own = next((_status(each) for each in self.records if each.job == self.id), None)
        if not job.array or own is not None:
            return own
        ends = [status for status in of_tasks if status is not None]
        return max(ends) if len(ends) == len(of_tasks) >= array_size(job.array) else None

    def note_end(self, job: Job) -> None:
        """Keep what the scheduler knows, and soon forgets, of a job that wrote no end itself."""
        for record in self.records:
            if record.job == self.id and self.of_queue and self._recorded(job) is None:
                with suppress(OSError, ValueError):
                    note_end(record, self.of_queue.exit_status or 0)


def _status(record: Record) -> int | None:
    """The exit status of a job; one that was ended from outside, with whatever status, failed."""
    return 1 if record.outside and record.status == 0 else record.status


@dataclass
class State:
    """The state of a job: of its attempts, the last one counts, unless one has succeeded.

    All of them are of one form of its script: of the one that it has now, if that has succeeded,
    else of the one that was submitted last.
    """

    job: Job
    attempts: list[Attempt] = field(default_factory=list)
    form: Form | None = None  # of the attempts
    earlier: Sequence[Form] = ()  # the forms of which a copy was kept
    misses: int = 0  # queries in a row after which nobody knew how its last attempt has ended

    @property
    def attempt(self) -> Attempt | None:
        """The one that succeeded, or the last one."""
        done = (each for each in self.attempts if each.status(self.job) == 0)
        return next(done, self.attempts[-1] if self.attempts else None)

    @property
    def exit_status(self) -> int | None:
        """None if the job has not ended, or if nobody knows how."""
        return self.attempt.status(self.job) if self.attempt else None

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
        return self.job.form.changes(self.form) if self.form else set()

    @property
    def last_copy(self) -> tuple[float, Form]:
        """When a copy of its script was kept last, in whatever form, and in which; 0 for never."""
        times = [(0.0, self.job.form)]
        for form in (self.job.form, *self.earlier):
            with suppress(OSError):
                times.append((self.job.copy_of(form).stat().st_mtime, form))
        return max(times, key=itemgetter(0))

    def add(self, attempt: Attempt, form: Form) -> None:
        """Add an attempt, which is the last one."""
        self.attempts = [*(self.attempts if form == self.form else ()), attempt]
        self.form = form

    def take(self, by_script: dict[str, dict[str, Attempt]]) -> None:
        """Take its attempts from those of all scripts; what a scheduler has said of them stays."""
        forms = {each.digest: each for each in (*self.earlier, self.job.form)}
        now = by_script.get(self.job.form.digest, {}).values()
        all_own = {each: digest for digest in forms for each in by_script.get(digest, {}).values()}
        if not all_own:
            return
        has_succeeded = any(each.status(self.job) == 0 for each in now)
        last = max(all_own, key=attrgetter("order"))
        self.form = self.job.form if has_succeeded else forms[all_own[last]]
        attempts = {each.id: each for each in self.attempts}
        for attempt in by_script[self.form.digest].values():
            attempts.setdefault(attempt.id, attempt).records = attempt.records
        self.attempts = sorted(attempts.values(), key=attrgetter("order"))


def read_states(jobs: Iterable[Job]) -> list[State]:
    """The state of each job, by one query of each queue. Raises NoAnswer.

    A job that has ended with a status other than 0 may be in the queue again, by --requeue.
    """
    states = [State(job) for job in jobs]
    _fetch(states)
    forms: dict[tuple[Path, tuple[str, ...]], list[Form]] = {}
    for logs in {each.job.logs for each in states}:
        for form in kept_forms(logs):
            forms.setdefault((logs, form.request), []).append(form)
    for state in states:
        state.earlier = forms.get((state.job.logs, state.job.form.request), ())
    _read_attempts(states)
    _settle(_not_queued([each for each in states if not each.succeeded]))
    return states


def refresh(states: Sequence[State]) -> None:
    """Read the states again of jobs that were in the queue; records are read of those alone that
    have left it. Raises NoAnswer.
    """
    gone = _not_queued(states)
    _fetch(gone)
    _read_attempts(gone)
    _settle(gone)


def _not_queued(states: Sequence[State]) -> list[State]:
    """Ask each queue once to which one of the jobs was submitted, or was about to be submitted.

    Returns the jobs that are in no queue.
    """
    submitted = [each for each in states if each.attempts or each.last_copy[0]]
    for machine, scheduler, own in by_queue(submitted):
        queue = own_jobs(scheduler, machine)
        shown = by_number(queue)
        for state in own:
            for attempt in state.attempts[-1:]:
                attempt.of_queue = shown.get(attempt.number)
        _adopt(own, queue, machine)
    return [each for each in states if not each.is_queued]


def by_queue(states: Iterable[State]) -> Iterator[tuple[Machine, str, list[State]]]:
    """The states of the jobs of each machine and scheduler."""
    found: dict[tuple[Machine, str], list[State]] = {}
    for each in states:
        found.setdefault((each.job.machine, each.job.scheduler), []).append(each)
    for (machine, scheduler), own in found.items():
        yield machine, scheduler, own


def _fetch(states: Sequence[State]) -> None:
    """Copy the records of jobs on hosts to here; those that are not there yet stay as they are."""
    for machine, place, logs in {
        (each.job.machine, each.job.logs_there, each.job.logs): None for each in states
    }:
        if isinstance(machine, Login):
            fetch_logs(machine, place, here=logs)


def _read_attempts(states: Sequence[State]) -> None:
    for logs in {each.job.logs for each in states}:
        by_script: dict[str, dict[str, Attempt]] = {}
        for record in read_records(logs):
            own, job = by_script.setdefault(record.script, {}), array_of(record.job)
            own.setdefault(job, Attempt(job)).records.append(record)
        for state in states:
            if state.job.logs == logs:
                state.take(by_script)


def _settle(gone: Iterable[State]) -> None:
    """Ask the schedulers how jobs have ended that are no longer in the queue, and wrote no end."""
    tried = [each for each in gone if each.attempts]
    silent = [each for each in tried if each.exit_status is None]
    for machine, scheduler, own in by_queue(silent):
        ended = ended_jobs(scheduler, [each.attempts[-1].id for each in own], machine)
        for state in own:
            last = state.attempts[-1]
            last.of_queue = ended.get(last.number)
            state.misses = state.misses + 1 if state.exit_status is None else 0
    for state in tried:
        state.attempts[-1].note_end(state.job)


def _adopt(states: Sequence[State], queue: Sequence[QueuedJob], machine: Machine) -> None:
    """Write the records of jobs in the queue that were submitted by a run that was cut off.

    Such a job has the name and the folder of one whose script was kept for a submission, and no
    record: if it had begun, it would have written its own. Of several with the name, it is the one
    whose script was kept last.
    """
    lacking = [each for each in states if not each.is_queued and each.last_copy[0]]
    names = {each.job.name for each in lacking}
    active = [each for each in queue if each.name in names and each.status.exit_status is None]
    if not active:
        return
    logs = {each.job.logs for each in lacking}
    recorded = {number_of(each.job) for folder in logs for each in read_records(folder)}
    folders = {chdir: _folders(machine, chdir) for chdir in {each.job.chdir for each in lacking}}
    for new in active:
        places = {new.folder, os.path.realpath(new.folder)}
        own = [
            each
            for each in lacking
            if each.job.name == new.name and places & folders[each.job.chdir]
        ]
        if own and number_of(new.job) not in recorded:
            state = max(own, key=lambda each: each.last_copy[0])
            lacking.remove(state)
            recorded.add(number_of(new.job))
            attempt, form = Attempt(array_of(new.job), of_queue=new.status), state.last_copy[1]
            note_submission(state.job.logs, attempt.id, state.job.copy_of(form).read_bytes())
            report(f"{new.name}: job {attempt.id} was submitted by a run that was cut off")
            state.add(attempt, form)


def _folders(machine: Machine, chdir: str) -> set[str]:
    """The folder of submission, and that of the job, which is in it or from /."""
    line = f"pwd -P; cd -- {quote_path(chdir or '.')} && pwd -P"
    return set(machine.run(("bash", "-c", line)).output.splitlines())
