"""Shows many jobs on stderr: a table that is rewritten on a terminal, else a line a change."""

import os
import sys
from collections.abc import Sequence
from typing import NamedTuple

from jobgen.errors import report
from jobgen.submission.follow import displayable, shorten
from jobgen.submission.queues.job_queue import JobStatus

_HEAD = ("NAME", "JOB", "STATE", "TIME")
_LINES, _COLUMNS = 24, 80  # of a terminal that does not know its size


class Row(NamedTuple):
    """A job that has not ended."""

    name: str
    job: str
    status: JobStatus

    @property
    def words(self) -> tuple[str, str, str, str]:
        note = f" ({self.status.note})" if self.status.note else ""
        return self.name, self.job, f"{self.status.state}{note}", self.status.elapsed


class Table:
    """The jobs that have not ended; on a terminal, the table stands below all other lines."""

    def __init__(self) -> None:
        self._height = 0  # lines of the table that is on the terminal now
        self._shown: dict[str, str] = {}  # the state of each job that was written last
        self.is_terminal = (
            sys.stderr is not None and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        )

    def show(self, rows: Sequence[Row], summary: str) -> None:
        """Show the jobs, those that run first, and a line about all of them."""
        if not self.is_terminal:
            for row in rows:
                if self._shown.get(row.job) != row.status.state:
                    self._shown[row.job] = row.status.state
                    report(f"{row.name}: job {row.job}: {row.status}")
            return
        self.clear()
        lines = _lines(sorted(rows, key=lambda row: not row.status.is_running), summary)
        size = os.get_terminal_size(sys.stderr.fileno())
        most = (size.lines or _LINES) - 2
        if len(lines) > most:
            more = len(lines) - most
            lines = [*lines[: most - 2], f"… and {more + 1} more", lines[-1]]
        for line in lines:
            text = displayable(line, sys.stderr.encoding)
            sys.stderr.write(f"{shorten(text, (size.columns or _COLUMNS) - 1)}\x1b[K\n")
        sys.stderr.flush()
        self._height = len(lines)

    def note(self, text: str) -> None:
        """Write a line that stays."""
        self.clear()
        report(text)

    def clear(self) -> None:
        """Remove the table from the terminal."""
        if self._height:
            sys.stderr.write(f"\x1b[{self._height}A\r\x1b[J")
            self._height = 0


def _lines(rows: Sequence[Row], summary: str) -> list[str]:
    words = [_HEAD, *(row.words for row in rows)]
    widths = [max(map(len, column)) for column in zip(*words, strict=True)]
    lines = [
        "  ".join(f"{text:<{width}}" for text, width in zip(row, widths, strict=True)).rstrip()
        for row in words
    ]
    return [*(lines if rows else []), summary]
