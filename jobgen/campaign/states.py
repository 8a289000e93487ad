"""What is known of each job of a manifest: from the records, and from one query of each queue."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from operator import attrgetter
from pathlib import Path

from jobgen.campaign.attempts import Attempt, State
from jobgen.campaign.forms import Form, kept_forms
from jobgen.campaign.jobs import Job
from jobgen.errors import report
from jobgen.quoting import quote_path
from jobgen.remote.files import fetch_logs
from jobgen.runs.records import Record, note_submission, read_records
from jobgen.submission.login import Login
from jobgen.submission.machine import Machine
from jobgen.submission.queues.job_queue import QueuedJob
from jobgen.submission.queues.own_jobs import (
    NoAnswer,
    array_of,
    by_number,
    ended_jobs,
    number_of,
    own_jobs,
)


def read_states(jobs: Iterable[Job]) -> list[State]:
    """The state of each job, by one query of each queue. Raises NoAnswer.

    A job that has ended with a status other than 0 may be in the queue again, by --requeue.
    """
    states = [State(job) for job in jobs]
    _fetch(states)
    forms: dict[object, list[Form]] = {}
    for logs in {each.job.logs for each in states}:
        for form in kept_forms(logs):
            forms.setdefault((logs, form.request, form.manifest), []).append(form)
    for state in states:
        form = state.job.form
        state.forms = forms.get((state.job.logs, form.request, form.manifest), ())
    _read_attempts(states)
    _settle(_not_queued([each for each in states if not each.succeeded or each.changes]))
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
                attempt.of_queue = attempt.submitted.certain(shown.get(attempt.number))
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
    """Read the attempts in the records; what the schedulers have said of them stays."""
    for logs in {each.job.logs for each in states}:
        by_script: dict[str, dict[str, list[Record]]] = {}
        for record in read_records(logs):
            of_script = by_script.setdefault(record.script, {})
            of_script.setdefault(array_of(record.job), []).append(record)
        for state in states:
            if state.job.logs == logs:
                _take(state, by_script)


def _take(state: State, by_script: Mapping[str, Mapping[str, list[Record]]]) -> None:
    attempts = {each.id: each for each in state.attempts}
    for form in (state.job.form, *state.forms):
        for job, records in by_script.get(form.digest, {}).items():
            attempts.setdefault(job, Attempt(state.job, job, form)).records = records
    state.attempts = sorted(attempts.values(), key=attrgetter("order"))


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
        state.attempts[-1].note_end()


def _adopt(states: Sequence[State], queue: Sequence[QueuedJob], machine: Machine) -> None:
    """Write the records of jobs in the queue that were submitted by a run that was cut off.

    Such a job has the name and the folder of one whose script was kept for a submission, and no
    record: if it had begun, it would have written its own. Of several with the name, it is the one
    whose script was kept last.
    """
    by_name: dict[str, list[State]] = {}
    for each in states:
        by_name.setdefault(each.job.name, []).append(each)
    logs = {each.job.logs for each in states}
    recorded, folders = cache(partial(_recorded, logs)), cache(partial(_folders, machine))
    for new in queue:
        own = [
            each
            for each in by_name.get(new.name, ())
            if new.status.exit_status is None
            and not each.is_queued
            and each.last_copy[0]
            and new.folder
            and {new.folder, os.path.realpath(new.folder)} & folders(each.job.chdir)
            and number_of(new.job) not in recorded()
        ]
        if own:
            state = max(own, key=lambda each: each.last_copy[0])
            job, (_, form) = state.job, state.last_copy
            attempt = Attempt(job, array_of(new.job), form, of_queue=new.status)
            script = job.copy_of(form).read_bytes()
            note_submission(job.logs, attempt.id, script, job.place_there)
            report(f"{new.name}: job {attempt.id} was submitted by a run that was cut off")
            state.attempts.append(attempt)
            recorded.cache_clear()


def _recorded(logs: Iterable[Path]) -> set[str]:
    """The numbers of the jobs that have a record."""
    return {number_of(each.job) for folder in logs for each in read_records(folder)}


def _folders(machine: Machine, chdir: str) -> set[str]:
    """The folder of submission, and that of the job, which is in it or from /. Raises NoAnswer."""
    line = f"pwd -P; cd -- {quote_path(chdir or '.')} && pwd -P"
    answer = machine.run(("bash", "-c", line))
    if answer.status is None:  # the job that was cut off would be submitted again
        raise NoAnswer(answer.reason)
    return set(answer.output.splitlines())
