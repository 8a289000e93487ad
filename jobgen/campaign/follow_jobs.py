"""Follows the jobs of a campaign until all have ended; each poll is one query for all of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from time import sleep

from jobgen.campaign.states import Query, State, ask_all, attempts_by_digest
from jobgen.campaign.table import Row, Table
from jobgen.campaign.verdicts import verdict_line
from jobgen.errors import JobgenError
from jobgen.submission.follow import FIRST_PAUSE, GROWTH, MOST_FAILURES
from jobgen.submission.machine import Machine
from jobgen.submission.queues.job_queue import JobStatus
from jobgen.submission.queues.many_jobs import NoAnswer, query_ended, query_states

MOST_MISSES = 3  # polls in which nobody knows a job: other nodes' files may come late
MOST_ASKED = 20  # failed jobs about which the scheduler is asked one by one, for `why`


@dataclass
class Followed:
    """A job that is followed; `end` says how it ended, and is "" until then."""

    state: State
    id: str
    status: JobStatus
    misses: int = 0
    end: str = ""
    failed: bool = False

    @property
    def name(self) -> str:
        return self.state.job.name


class Follower:
    """Follows jobs and shows them; `jobs` can be read at any time."""

    def __init__(self, states: Sequence[State], machine: Machine) -> None:
        self.jobs = [
            Followed(each, each.attempt.id, each.status)
            for each in states
            if each.attempt and each.status
        ]
        self.machine, self.table = machine, Table()
        self.succeeded = sum(state.succeeded for state in states)

    @property
    def open(self) -> list[Followed]:
        """The jobs that have not ended."""
        return [each for each in self.jobs if not each.end]

    def follow(self) -> None:
        """Follow the jobs to their ends. Raises JobgenError if the scheduler stays silent."""
        pause, failures = FIRST_PAUSE, 0
        while self.open:
            try:
                self._poll()
                failures = 0
            except NoAnswer as error:
                failures += 1
                if failures > MOST_FAILURES:
                    self.table.clear()
                    hint = "the same command follows the jobs again"
                    raise JobgenError(f"the scheduler does not answer: {error}; {hint}") from None
                self.table.show([], f"the query failed, retrying: {error}")
            if self.open:
                sleep(pause)
                pause = min(pause * GROWTH, self.machine.longest_pause)

    def _poll(self) -> None:
        shown = self._ask(query_states, self.open)
        gone = []
        for each in self.open:
            status = shown.get(each.id)
            if status and status.exit_status is None:
                each.status, each.misses = status, 0
            else:
                gone.append(each)
        if gone:
            self._settle(gone, shown)
        self.table.show([Row(each.name, each.id, each.status) for each in self.open], self.summary)

    def _settle(self, gone: Sequence[Followed], shown: dict[str, JobStatus]) -> None:
        """Note how jobs have ended that are no longer in the queue."""
        attempts = attempts_by_digest({each.state.job.logs: None for each in gone})
        for each in gone:
            found = attempts.get(each.state.job.digest, {}).get(each.id)
            each.state.attempt = found or each.state.attempt
        silent = [each for each in gone if self._exit_status(each, shown) is None]
        ended = self._ask(query_ended, silent) | shown
        for each in gone:
            self._end(each, ended)

    def _exit_status(self, each: Followed, shown: dict[str, JobStatus]) -> int | None:
        assert each.state.attempt
        return each.state.attempt.status(each.state.job, shown.get(each.id))

    def _end(self, each: Followed, ended: dict[str, JobStatus]) -> None:
        assert each.state.attempt
        job, attempt, of_queue = each.state.job, each.state.attempt, ended.get(each.id)
        status = self._exit_status(each, ended)
        each.misses += status is None
        if status is None and each.misses < MOST_MISSES:
            return
        attempt.note_end(job, of_queue)
        each.failed = status != 0
        words = of_queue.state if of_queue else "ENDED"
        each.end = (
            f"{words} (exit status {status})" if status is not None else "ended without a word"
        )
        if each.failed:
            may_ask = sum(other.failed for other in self.jobs) <= MOST_ASKED
            verdict = verdict_line(attempt, may_ask)
            each.end += f": {verdict}" if verdict else ""
        self.table.note(f"{each.name}: job {each.id}: {each.end}")

    def _ask(self, query: Query, jobs: Sequence[Followed]) -> dict[str, JobStatus]:
        return ask_all(query, [(each.state.job, each.id) for each in jobs], self.machine)

    @property
    def summary(self) -> str:
        """How many jobs there are of each kind."""
        running = sum(each.status.is_running for each in self.open)
        failed = sum(each.failed for each in self.jobs)
        counts = {
            "succeeded": self.succeeded + len(self.jobs) - len(self.open) - failed,
            "failed": failed,
            "running": running,
            "waiting": len(self.open) - running,
        }
        shown = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        return f"{self.succeeded + len(self.jobs)} jobs: {shown}"
