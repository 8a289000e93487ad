"""Submits jobs one by one, so that each is submitted once, whatever is killed when.

Before a script goes to the scheduler, a note of the intent is written; after the job's record is
written, the note goes. If a note is found, the run that wrote it was killed, or its submission
failed: the job may be in the queue without a record. Then it is searched there by its name and its
folder. A job that has begun has a record, which it writes itself.
"""

import fcntl
import json
import os
from collections.abc import Container, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from jobgen.campaign.jobs import Job
from jobgen.campaign.lanes import dependency_words, predecessors
from jobgen.campaign.states import Attempt, State, ask_all, attempts_by_digest
from jobgen.errors import problem, report
from jobgen.runs.records import LOGS, keep_script, note_submission
from jobgen.scripts.write import replace_file
from jobgen.submission.machine import Answer, Here, Machine
from jobgen.submission.queues.job_queue import JobStatus, get_queue
from jobgen.submission.queues.many_jobs import array_of, find_waiting, query_states

_LOCK, _INTENT = "submission.lock", "submission.intent"


class Refused(Exception):
    """A script that the scheduler did not take, or of which nobody knows; the text says why."""


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


class Intent(NamedTuple):
    """What is noted before a submission, to find its job if this process does not live on."""

    digest: str
    name: str
    scheduler: str
    logs: str
    chdir: str  # "" if the job runs in the manifest's folder
    earlier: list[str]  # the jobs of the same script that were there before


class Submission:
    """Submits jobs of a manifest in its folder, while the lock is held."""

    def __init__(self, folder: Path, machine: Machine, lock: int) -> None:
        self.machine, self.lock = machine, lock
        self.intent = folder / LOGS / _INTENT

    def recover(self) -> str | None:
        """Find the job of a submission that was cut off, write its record, and return its id.

        None if there is no such job, or if it has a record. Raises NoAnswer.
        """
        intent = self._read_intent()
        if not intent:
            return None
        logs, found = Path(intent.logs), None
        attempts = attempts_by_digest([logs])
        recorded = {job for own in attempts.values() for job in own}
        if set(attempts.get(intent.digest, {})) <= set(intent.earlier):
            for job in self._find(intent, recorded):
                note_submission(logs, job, (logs / "scripts" / f"{intent.digest}.sh").read_bytes())
                report(f"{intent.name}: job {job} was submitted by a run that was cut off")
                found = array_of(job)
        self._forget_intent()
        return found

    def _find(self, intent: Intent, recorded: Container[str]) -> list[str]:
        """The jobs in the queue that have the name and the folder of an intent, and no record."""
        waiting = find_waiting(intent.scheduler, intent.name, self.machine)
        new = [each for each in waiting if array_of(each.job) not in recorded]
        folders = {self.machine.run(("pwd", "-P")).output.strip(), intent.chdir} if new else set()
        return [each.job for each in new if {each.folder, os.path.realpath(each.folder)} & folders]

    def _read_intent(self) -> Intent | None:
        with suppress(OSError, ValueError, TypeError):
            return Intent(**json.loads(self.intent.read_bytes()))
        return None

    def _forget_intent(self) -> None:
        self.intent.unlink()

    def submit_all(
        self, states: Iterable[State], missing: Iterable[State], at_once: int | None
    ) -> Iterator[State]:
        """Submit the missing jobs, and yield the state of each with its new attempt.

        `states` are of all jobs of the manifest, since those in the queue count for `at_once`.
        Raises Refused and NoAnswer.
        """
        queued = [
            (each.job.scheduler, each.attempt.id) for each in states if each.status and each.attempt
        ]
        new: list[tuple[str, str]] = []
        for state in missing:
            kind = state.job.scheduler
            first, later = ([job for each, job in jobs if each == kind] for jobs in (queued, new))
            job = self._submit_after(state, predecessors(first, later, at_once) if at_once else [])
            state.attempt, state.status = Attempt(job), JobStatus("SUBMITTED")
            new.append((kind, job))
            yield state

    def _submit_after(self, state: State, before: Sequence[str]) -> str:
        """Submit a job that waits for others; returns its id. Raises Refused and NoAnswer."""
        try:
            return self._submit(state, before)
        except Refused:  # perhaps a job has just left the queue that it was to wait for
            shown = ask_all(query_states, [(state.job, each) for each in before], self.machine)
            rest = [job for job in before if job in shown]
            if rest == before:
                raise
            return self.recover() or self._submit(state, rest)

    def _submit(self, state: State, before: Sequence[str]) -> str:
        job = state.job
        script = self._read_script(job)
        self._write_intent(state)
        queue = get_queue(job.scheduler)
        words = (*queue.submit, *dependency_words(job.scheduler, job.dependency, before))
        answer = self._run(words, script)
        errors = answer.errors.strip()
        lines = [line.strip() for line in answer.output.splitlines()]
        found = next((each for line in lines if (each := queue.parse_id(line))), None)
        if not found:
            text = errors or f"it ended with status {answer.status}, and printed no id"
            raise Refused(f"{job.path}: {queue.submit[0]} did not take it: {text}")
        if errors:
            report(errors)
        self._note(job, found[0], script)
        return array_of(found[0])

    def _run(self, words: Sequence[str], script: bytes) -> Answer:
        """Run sbatch or qsub, which keeps the lock until it ends, also if this process is killed.

        A qsub leaves a process in the background, which may not have the lock: so bash has it.
        """
        if not isinstance(self.machine, Here):
            return self.machine.submit(words, script)
        keeper = ("bash", "-c", f'"$@" {self.lock}>&-; exit "$?"', "bash")
        return self.machine._replace(files=(self.lock,)).run((*keeper, *words), script)

    def _read_script(self, job: Job) -> bytes:
        """The script, of which a copy is kept, so that a record can be written by the intent."""
        try:
            script = job.path.read_bytes()
            if keep_script(job.logs, script) == job.digest:
                return script
        except OSError as error:
            raise Refused(f"{error.filename or job.logs}: {error.strerror}") from None
        raise Refused(f"{job.path}: it was changed by somebody else just now")

    def _note(self, job: Job, name: str, script: bytes) -> None:
        try:
            note_submission(job.logs, name, script)
            self._forget_intent()
        except OSError as error:
            text = f"but its record cannot be written in {job.logs}: {error.strerror}"
            raise Refused(f"{job.path}: it is submitted as job {name}, {text}") from None

    def _write_intent(self, state: State) -> None:
        job = state.job
        of_job = (job.digest, job.name, job.scheduler, str(job.logs), job.chdir)
        data = json.dumps(Intent(*of_job, list(state.earlier))._asdict()).encode()
        try:
            replace_file(self.intent.absolute(), data, 0o600, sync=False, make_folders=True)
        except OSError as error:
            raise Refused(f"{self.intent} cannot be written: {error.strerror}") from None
