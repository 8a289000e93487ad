"""The lines with times in a log above those of a verdict, most of which have none."""

import os
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from jobgen.diagnosis.answers import is_of_kernel
from jobgen.diagnosis.job_folder.layout import read_plain
from jobgen.diagnosis.lines.labels import line_time, plain
from jobgen.diagnosis.reader import LONGEST_LINE
from jobgen.paths import to_path

_TAIL = 30_000  # bytes at the end of a file
_ABOVE = 300  # lines that are searched for a time


class Line(NamedTuple):
    """A line of a log: its number, its own time, and its text."""

    number: int
    time: float
    text: str


def lines_above(file: str, numbers: Iterable[int]) -> dict[int, list[Line]]:
    """The lines with times down to the first of some lines; down to each other one, the last.

    There are none if the file cannot be read again.
    """
    wanted = set(numbers)
    found: dict[int, list[Line]] = {}
    last: deque[tuple[int, bytes]] = deque(maxlen=_ABOVE)
    number, before = 1, 0
    if not os.path.isfile(to_path(file)):  # stdin, a pipe, or the scheduler
        return found
    with suppress(OSError), open(to_path(file), "rb") as stream:
        for piece in iter(partial(stream.readline, LONGEST_LINE), b""):
            last.append((number, piece))
            if number in wanted:
                lines = _with_times(last)
                found[number] = (lines or found[before])[-1:] if found else lines
                wanted.remove(number)
                last.clear()
                before = number
            number += piece.endswith(b"\n")
            if not wanted:
                break
    return found


def last_lines(file: str) -> list[Line]:
    """The lines with times at the end of a file; of a long file, without numbers."""
    data = read_plain(os.fspath(to_path(file)), _TAIL, at_end=True)
    lines = enumerate(data.split(b"\n"), 1)
    is_whole = len(data) < _TAIL
    return _with_times((n if is_whole else 0, line) for n, line in lines)


def _with_times(lines: Iterable[tuple[int, bytes]]) -> list[Line]:
    """The lines that have a time; those of a kernel say nothing about the job."""
    texts = ((number, plain(line)) for number, line in lines if not is_of_kernel(line))
    times = ((number, line_time(text), text) for number, text in texts)
    return [Line(number, time, text) for number, time, text in times if time is not None]
