"""Shows many jobs on stderr: a table that is rewritten on a terminal, else a line a change."""

import os
import sys
from collections.abc import Sequence

from jobgen.campaign.attempts import State
from jobgen.errors import report
from jobgen.submission.follow import can_rewrite, fitting

_HEAD = ("NAME", "JOB", "STATE", "TIME")
_LINES = 24  # of a terminal that does not know its size


class Table:
    """The jobs that have not ended; on a terminal, the table stands below all other lines."""

    def __init__(self) -> None:
        self._height = 0  # lines of the table that is on the terminal now
        self._shown: dict[str, str] = {}  # the state of each job that was written last
        self.is_terminal = can_rewrite()

    def show(self, states: Sequence[State], summary: str) -> None:
        """Show the jobs, those that run first, and a line about all of them."""
        if not self.is_terminal:
            self._report_changes(states)
            return
        self.clear()
        lines = _lines(sorted(states, key=lambda each: not each.is_running), summary)
        most = (os.get_terminal_size(sys.stderr.fileno()).lines or _LINES) - 2
        if len(lines) > most:
            more = len(lines) - most
            lines = [*lines[: most - 2], f"… and {more + 1} more", lines[-1]]
        for line in lines:
            sys.stderr.write(f"{fitting(line)}\x1b[K\n")
        sys.stderr.flush()
        self._height = len(lines)

    def _report_changes(self, states: Sequence[State]) -> None:
        for each in states:
            job, status = each.attempts[-1].id, each.attempts[-1].of_queue
            if status and self._shown.get(job) != status.state:
                self._shown[job] = status.state
                report(f"{each.job.name}: job {job}: {status}")

    def note(self, text: str) -> None:
        """Write a line that stays."""
        self.clear()
        report(text)

    def clear(self) -> None:
        """Remove the table from the terminal."""
        if self._height:
            sys.stderr.write(f"\x1b[{self._height}A\r\x1b[J")
            self._height = 0


def _lines(states: Sequence[State], summary: str) -> list[str]:
    rows = [_HEAD, *map(_row, states)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return [*(lines if states else []), summary]


def _row(state: State) -> tuple[str, ...]:
    job, status = state.attempts[-1].id, state.attempts[-1].of_queue
    if status is None:
        return state.job.name, job, "", ""
    note = f" ({status.note})" if status.note else ""
    return state.job.name, job, f"{status.state}{note}", status.elapsed
