"""A job that `jobgen.submit` has submitted: its state, its end, and why it failed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from threading import Lock
from time import monotonic, sleep
from typing import NamedTuple

from jobgen.diagnosis import events
from jobgen.diagnosis.job_files import find_job_folder
from jobgen.diagnosis.named_input import verdict_on_job, verdict_on_words
from jobgen.diagnosis.report import as_text
from jobgen.errors import JobgenError, problem
from jobgen.runs.records import Record, records_of
from jobgen.runs.runs import runs_of, state_among
from jobgen.submission.ending import Submitted
from jobgen.submission.follow import FIRST_PAUSE, GROWTH, MOST_FAILURES
from jobgen.submission.local_process import LocalProcess
from jobgen.submission.queues.job_queue import JobStatus
from jobgen.submission.queues.own_jobs import NoAnswer
from jobgen.submission.watch import View, Watch

MOST_AGE = 1.0  # seconds of an answer of the scheduler that counts for `state`
MOST_MISSES = 3  # answers after which nobody knows a job: the files of other nodes may come late
_SILENT = "ended without a word"


class End(NamedTuple):
    """How a job has ended, in the words of `jobgen runs`; without a status, nobody knows it."""

    state: str
    exit_status: int | None


class Verdict(events.Verdict):
    """The verdict of `jobgen why`; its text is what that command prints."""

    __slots__ = ()

    def __str__(self) -> str:
        return as_text(self).rstrip("\n")


class SubmittedJob:
    """A submitted job. Several threads may use it.

    `scheduler` is slurm, pbs or local; `id` is what it calls the job, or the number of the process
    of a local job; `script` is the text that was submitted, `logs` the folder with the job's
    record, and `messages` what the scheduler's command said on stderr, and warnings if its program
    is not there, or if the record could not be written.
    """

    def __init__(
        self,
        scheduler: str,
        submitted: Submitted,
        script: str,
        record: Record,
        watch: Watch,
        cluster: str = "",
        messages: str = "",
    ) -> None:
        self.id, self.logs, self.script = submitted.id, submitted.logs, script
        self.scheduler, self.messages = scheduler, messages
        self._submitted, self._watch, self._cluster = submitted, watch, cluster
        self._since, self._lock = monotonic(), Lock()
        self._record = record  # of its submission, if somebody removes the file
        self._records: Sequence[Record] = (record,)
        self._view: View | None = None
        self._end: JobStatus | None = None  # what its scheduler has said of its end
        self._of_last_miss, self._misses = 0.0, 0
        self._has_ended = False

    def __repr__(self) -> str:
        return f"<jobgen.SubmittedJob {self.id}>"

    def state(self) -> str:
        """Its state in the words of `jobgen runs`, such as queued, running, ok, failed 7."""
        try:
            self._look(MOST_AGE)
        except NoAnswer:
            self._view = None  # as where there is no scheduler
        return self._state()

    def wait(self, timeout: float | None = None) -> End:
        """Wait until it has ended; returns how.

        Raises TimeoutError after so many seconds, and JobgenError if the scheduler stays silent.
        """
        limit = None if timeout is None else monotonic() + timeout
        pause, failures = FIRST_PAUSE, 0
        while True:
            try:
                if self._look(pause):
                    return End(self._state(), self._exit_status)
                failures = 0
            except NoAnswer as error:
                failures += 1
                if failures > MOST_FAILURES:
                    text = f"the scheduler does not answer: {error}"
                    raise problem("wait", text, "queue", "call it again") from None
            rest = pause if limit is None else limit - monotonic()
            if rest <= 0:
                raise TimeoutError(f"job {self.id} has not ended in {timeout} s: {self._state()}")
            sleep(min(pause, rest))
            pause = min(pause * GROWTH, self._watch.longest_pause)

    def statuses(self) -> dict[str, int]:
        """The exit status of each job of an array that has written it, by its number."""
        found = {}
        for record in records_of(self.logs, self.id):
            task = re.match(r"\d+[_[](\d+)", record.job)
            if task and record.status is not None:
                found[task[1]] = record.status
        return found

    def cancel(self) -> None:
        """Ask the scheduler to end it; nothing happens to a job that has ended.

        Raises JobgenError if the scheduler does not do it.
        """
        try:
            self._watch.cancel(self.id, self._cluster)
        except JobgenError:
            if not self._look(0):
                raise

    def why(self) -> Verdict:
        """The verdict of `jobgen why` on it: what failed first, and what to do.

        Raises JobgenError if nothing is left of it, and its scheduler has forgotten it.
        """
        if not isinstance(self._watch, LocalProcess):
            return Verdict(*verdict_on_job(self.id, self.logs))
        folder = find_job_folder(self.id, [str(self.logs)])
        return Verdict(*verdict_on_words([*filter(None, [folder]), str(self._watch.output)]))

    def _look(self, most_age: float) -> bool:
        """Read its records, and ask its queue unless they are enough; whether it has ended."""
        with self._lock:
            self._read()
            if not self._has_ended and self._recorded != 0:
                view = self._watch.look(most_age, self._since)
                shown = self._submitted.certain(view.statuses.get(self._submitted.number))
                self._view = view
                if shown and shown.exit_status is None:
                    return False
                self._read()  # it may have written its end after the first time
                if self._recorded is None and not self._settle(view, shown):
                    return False
            self._has_ended = True
            return True

    def _settle(self, view: View, shown: JobStatus | None) -> bool:
        """Note what its scheduler knows of its end; returns whether nothing more can be known."""
        end = self._watch.end_of(self.id, self._cluster) or shown
        if end := self._submitted.certain(end):
            self._end = end
            self._submitted.note_end(self._records, end)
            self._record = self._record._replace(status=end.exit_status, outside=end.outside)
            self._read()
        elif view.begun != self._of_last_miss:
            self._of_last_miss, self._misses = view.begun, self._misses + 1
        return self._exit_status is not None or self._misses >= MOST_MISSES

    def _read(self) -> None:
        self._records = records_of(self.logs, self.id) or (self._record,)

    @property
    def _recorded(self) -> int | None:
        return self._submitted.recorded_status(self._records)

    @property
    def _exit_status(self) -> int | None:
        return self._submitted.status(self._records, self._end)

    def _state(self) -> str:
        if self._has_ended and self._exit_status is None:
            return _SILENT
        runs = runs_of(self._records)
        own = next((run for run in runs if run.record.job == self.id), runs[0])
        queue = self._view.running if self._view else None
        return state_among(own, runs, {} if self._has_ended else queue)
