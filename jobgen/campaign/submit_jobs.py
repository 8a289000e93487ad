"""Submits jobs one by one, so that each is submitted once, whatever is killed when.

A copy of the script is kept before it goes to the scheduler, and the job's record is written after
that. If there is the copy alone, a run was killed between the two, or its submission failed: then
the job is searched in the queue (`states`).
"""

import fcntl
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from jobgen.campaign.attempts import Attempt, State
from jobgen.campaign.jobs import Job
from jobgen.campaign.lanes import dependency_words, predecessors
from jobgen.campaign.states import refresh
from jobgen.errors import JobgenError, problem, report
from jobgen.runs.records import LOGS, keep_script, note_submission
from jobgen.submission.queues.job_queue import JobStatus, get_queue
from jobgen.submission.queues.own_jobs import array_of, by_number, number_of, own_jobs
from jobgen.submission.submit import hand_over

_LOCK = "submission.lock"


class WithoutRecord(JobgenError):
    """A job was submitted, and its record could not be written; the text says why."""


@contextmanager
def locked(folder: Path) -> Iterator[int]:
    """Hold the lock of a manifest's folder, which the kernel frees when its holders have died.

    Raises JobgenError if the folder for logs cannot be written.
    """
    path = folder / LOGS / _LOCK
    try:
        path.parent.mkdir(exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        text = f"{path} cannot be written: {error.strerror}"
        raise problem("--submit", text, "output", "the records of jobs are kept there") from None
    try:
        _take_lock(handle, path)
        yield handle
    finally:
        os.close(handle)


def _take_lock(handle: int, path: Path) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        report(f"another `jobgen build --submit` is at work here; waiting for it ({path})")
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError as error:  # some file systems have no locks
        report(f"warning: {path}: no lock is possible ({error.strerror}): run one of these at once")


def submit_all(
    states: Iterable[State], missing: Iterable[State], at_once: int | None, lock: int
) -> Iterator[State]:
    """Submit the missing jobs, and yield the state of each with its new attempt.

    `states` are of all jobs of the manifest, since those in the queue count for `at_once`; `lock`
    is held. Raises JobgenError; WithoutRecord if the last of them was submitted.
    """
    queued = [
        (_queue_of(each), each.attempt.id) for each in states if each.is_queued and each.attempt
    ]
    new: list[tuple[object, str]] = []
    for state in missing:
        own = _queue_of(state)
        first, later = ([job for each, job in jobs if each == own] for jobs in (queued, new))
        before = predecessors(first, later, at_once) if at_once else []
        try:
            _submit(state, before, lock)
        except WithoutRecord:
            raise
        except JobgenError:  # perhaps a job has just left the queue that it was to wait for
            shown = by_number(own_jobs(state.job.scheduler, state.job.machine)) if before else {}
            rest = [job for job in before if number_of(job) in shown]
            if rest == before:
                raise
            refresh([state])
            if not state.is_queued:
                _submit(state, rest, lock)
        new.append((own, state.attempts[-1].id))
        yield state


def _queue_of(state: State) -> tuple[object, str]:
    return state.job.machine, state.job.scheduler


def _submit(state: State, before: Sequence[str], lock: int) -> None:
    """Submit a job that waits for others, and add the attempt to its state. Raises JobgenError."""
    job, queue = state.job, get_queue(state.job.scheduler, state.job.machine)
    script = _keep_script(job)
    try:
        options = dependency_words(job.scheduler, job.dependency, before)
        new = hand_over(script, queue, options, lock)
    except JobgenError as error:
        raise JobgenError(f"{job.path}: {error}") from None
    if new.messages:
        report(new.messages)
    try:
        note_submission(job.logs, new.id, script, job.place_there)
    except OSError as error:
        text = f"but its record cannot be written in {job.logs}: {error.strerror}"
        raise WithoutRecord(f"{job.path}: it is submitted as job {new.id}, {text}") from None
    attempt = Attempt(job, array_of(new.id), job.form, of_queue=JobStatus("SUBMITTED"))
    state.attempts.append(attempt)


def _keep_script(job: Job) -> bytes:
    """The script, of which a copy is kept, with the time of now."""
    try:
        script = job.path.read_bytes()
        if keep_script(job.logs, script) == job.form.digest:
            os.utime(job.copy_of(job.form))
            return script
    except OSError as error:
        raise JobgenError(f"{error.filename or job.logs}: {error.strerror}") from None
    raise JobgenError(f"{job.path}: it was changed by somebody else just now")
