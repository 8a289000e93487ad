"""Follows the jobs of a campaign until all have ended; each poll is one query of each queue."""

from collections.abc import Iterator, Sequence
from itertools import islice
from time import sleep

from jobgen.campaign.attempts import Attempt, State
from jobgen.campaign.states import by_queue, refresh
from jobgen.campaign.table import Table
from jobgen.diagnosis.engine import diagnose
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.files import is_job_folder, sources
from jobgen.diagnosis.job_files import find_job_files
from jobgen.diagnosis.job_folder.verdict import diagnose_folder
from jobgen.diagnosis.report import as_line
from jobgen.errors import JobgenError, counted
from jobgen.remote.files import fetch_logs, left_by
from jobgen.submission.follow import FIRST_PAUSE, GROWTH, MOST_FAILURES
from jobgen.submission.login import Login

MOST_MISSES = 3  # polls in which nobody knows a job: other nodes' files may come late
MOST_READ = 5  # jobs of an array that have failed, whose logs are read
MOST_ASKED = 20  # failed jobs about which the scheduler is asked one by one, for `why`


class Follower:
    """Follows jobs and shows them; what is known of them can be read at any time."""

    def __init__(self, states: Sequence[State]) -> None:
        self.open = [each for each in states if each.is_queued]
        self.failed: list[str] = []  # a line for each
        self.succeeded = sum(each.succeeded for each in states)
        self.errors: dict[str, JobgenError] = {}  # of the last poll, by the host
        self.table = Table()

    def follow(self) -> None:
        """Follow the jobs to their ends. Raises JobgenError if a scheduler stays silent."""
        pause, failures = FIRST_PAUSE, 0
        longest = max((each.job.machine.longest_pause for each in self.open), default=0)
        while self.open:
            self._poll()
            # A laptop may be without a network for hours: then the person decides.
            failures = failures + 1 if "" in self.errors else 0
            if failures > MOST_FAILURES:
                self.table.clear()
                hint = "the same command follows the jobs again"
                raise JobgenError(f"the scheduler does not answer: {self.errors['']}; {hint}")
            if self.open:
                sleep(pause)
                pause = min(pause * GROWTH, longest)

    def _poll(self) -> None:
        """Ask each queue once."""
        errors: dict[str, JobgenError] = {}
        for machine, _, own in by_queue(self.open):
            try:
                refresh(own)
            except JobgenError as error:
                errors[machine.name] = error
                continue
            for each in own:
                is_silent = each.exit_status is None
                if not (each.is_queued or (is_silent and each.misses < MOST_MISSES)):
                    self._note_end(each)
        for host in errors.keys() - self.errors.keys():
            place = f"{host}: " if host else ""
            self.table.note(f"{place}the query failed, trying again: {errors[host]}")
        self.errors = errors
        self.table.show(self.open, self.summary)

    def _note_end(self, state: State) -> None:
        self.open.remove(state)
        attempt, status = state.attempt, state.exit_status
        assert attempt
        words = attempt.of_queue.state if attempt.of_queue else "ENDED"
        end = f"{words} (exit status {status})" if status is not None else "ended without a word"
        line = f"{state.job.name}: job {attempt.id}: {end}"
        if status == 0:
            self.succeeded += 1
        else:
            verdict = _verdict_line(state, len(self.failed) < MOST_ASKED)
            line += f": {verdict}" if verdict else ""
            self.failed.append(line)
        self.table.note(line)

    @property
    def summary(self) -> str:
        """How many jobs there are of each kind."""
        running = sum(each.is_running for each in self.open)
        counts = {
            "succeeded": self.succeeded,
            "failed": len(self.failed),
            "running": running,
            "waiting": len(self.open) - running,
        }
        shown = ", ".join(f"{count} {word}" for word, count in counts.items() if count)
        return f"{counted(sum(counts.values()), 'job')}: {shown}"


def _verdict_line(state: State, may_ask: bool) -> str:
    """The verdict on a job that failed, or on one of an array; "" if no cause is found.

    The scheduler is asked, if it `may_ask`, only about a job of this machine that has left no
    folder. The folder of a job on a host is fetched.
    """
    job, attempt = state.job, state.attempts[-1]
    try:
        if isinstance(job.machine, Login):
            patterns, may_ask = left_by(attempt.id), False
            fetch_logs(job.machine, job.logs_there, patterns, here=job.logs)
        found = next((each for each in _verdicts(attempt, may_ask) if each.code), None)
    except (JobgenError, OSError):
        return ""
    return as_line(found).strip().removeprefix("jobgen: ") if found else ""


def _verdicts(attempt: Attempt, may_ask: bool) -> Iterator[Verdict]:
    failed = (each for each in attempt.records if each.status != 0)
    folders = (str(each.job_folder) for each in failed if each.job_folder)
    found = list(islice(filter(is_job_folder, folders), MOST_READ))
    yield from map(diagnose_folder, found)
    if may_ask and not found:
        yield diagnose(sources(find_job_files(attempt.id).paths))
