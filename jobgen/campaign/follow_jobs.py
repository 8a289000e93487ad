"""Follows the jobs of a campaign until all have ended; each poll is one query of each queue."""

from collections.abc import Sequence
from time import sleep

from jobgen.campaign.states import State, by_queue, refresh
from jobgen.campaign.table import Table
from jobgen.campaign.verdicts import verdict_line
from jobgen.errors import JobgenError
from jobgen.submission.follow import FIRST_PAUSE, GROWTH, MOST_FAILURES

MOST_MISSES = 3  # polls in which nobody knows a job: other nodes' files may come late
MOST_ASKED = 20  # failed jobs about which the scheduler is asked one by one, for `why`


class Follower:
    """Follows jobs and shows them; what is known of them can be read at any time."""

    def __init__(self, states: Sequence[State]) -> None:
        self.open = [each for each in states if each.is_queued]
        self.failed: list[str] = []  # a line for each
        self.succeeded = sum(each.succeeded for each in states)
        self.table = Table()

    def follow(self) -> None:
        """Follow the jobs to their ends. Raises JobgenError if a scheduler stays silent."""
        pause, failures = FIRST_PAUSE, 0
        longest = max((each.job.machine.longest_pause for each in self.open), default=0)
        while self.open:
            errors = self._poll()
            # A laptop may be without a network for hours: then the person decides.
            failures = failures + 1 if "" in errors else 0
            if failures > MOST_FAILURES:
                self.table.clear()
                hint = "the same command follows the jobs again"
                raise JobgenError(f"the scheduler does not answer: {errors['']}; {hint}")
            for host, error in errors.items():
                self.table.show([], f"{host}{': ' * bool(host)}the query failed, retrying: {error}")
            if self.open:
                sleep(pause)
                pause = min(pause * GROWTH, longest)

    def _poll(self) -> dict[str, JobgenError]:
        """Ask each queue once; returns the errors, by the host."""
        errors = {}
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
        self.table.show(self.open, self.summary)
        return errors

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
            verdict = verdict_line(state, len(self.failed) < MOST_ASKED)
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
        return f"{sum(counts.values())} jobs: {shown}"
