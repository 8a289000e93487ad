"""How a submitted job has ended: by its records, and by what its scheduler says of it."""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jobgen.runs.chains import read_chain
from jobgen.runs.records import Record, note_end
from jobgen.submission.chain import DONE_FOR_GOOD, chain_status
from jobgen.submission.queues.job_queue import JobStatus
from jobgen.submission.queues.own_jobs import number_of


class Submitted(NamedTuple):
    """A job that a scheduler has taken; all jobs of an array are one."""

    id: str
    logs: Path  # the folder of its records
    array: str = ""
    is_chain: bool = False

    @property
    def number(self) -> str:
        """Its number, by which its queue is read."""
        return number_of(self.id)

    def status(self, records: Sequence[Record], of_queue: JobStatus | None) -> int | None:
        """The exit status, the worst of an array; None if it has none yet, or nobody knows it.

        The records come first: a scheduler knows no status of some jobs, and forgets the others.
        """
        recorded = self.recorded_status(records)
        if recorded is not None or of_queue is None or of_queue.exit_status is None:
            return recorded
        return 1 if self.is_chain else of_queue.exit_status  # it ended, and is not done

    def recorded_status(self, records: Iterable[Record]) -> int | None:
        """The exit status that its records have."""
        if self.is_chain:
            events = read_chain(self.logs, self.number)
            status = chain_status(events[-1]) if events else None
            return 0 if status == DONE_FOR_GOOD else status
        ends = {each.job: _status(each) for each in records}
        own = ends.pop(self.id, None)
        if own is not None or not self.array:
            return own
        of_tasks = [status for status in ends.values() if status is not None]
        are_all = len(of_tasks) == len(ends) >= array_size(self.array)
        return max(of_tasks) if are_all else None

    def certain(self, of_queue: JobStatus | None) -> JobStatus | None:
        """None for a success of some jobs of an array: Slurm's queue forgets them one by one."""
        if of_queue is None or of_queue.exit_status != 0:
            return of_queue
        return None if 0 < len(of_queue.array_jobs) < array_size(self.array) else of_queue

    def note_end(self, records: Iterable[Record], of_queue: JobStatus | None) -> None:
        """Keep what the scheduler knows, and soon forgets, of a job that wrote no end itself."""
        own = list(records)
        if self.recorded_status(own) is not None or not of_queue or of_queue.exit_status is None:
            return
        for record in own:
            if record.job == self.id:
                with suppress(OSError, ValueError, TypeError):
                    note_end(record, of_queue.exit_status, of_queue.outside)


def _status(record: Record) -> int | None:
    """The exit status of a job; one that was ended from outside, with whatever status, failed."""
    return 1 if record.outside and record.status == 0 else record.status


def array_size(array: str) -> int:
    """The number of jobs in an array such as 0-9%2, 0-15:4 or 1,4,7-9; 1 without one."""
    size = 0
    for part in array.partition("%")[0].split(","):
        if found := re.fullmatch(r"(\d+)-(\d+)(?::(\d+))?", part):
            first, last, step = (int(text or 1) for text in found.groups())
            size += len(range(first, last + 1, step))
        else:
            size += 1
    return size
