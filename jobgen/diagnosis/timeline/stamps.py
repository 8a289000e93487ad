"""The lines with times in a log above the lines of a verdict, most of which have none."""

import os
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from jobgen.diagnosis.answers import KERNEL, answer_of
from jobgen.diagnosis.files import path_label
from jobgen.diagnosis.job_folder.layout import read_plain
from jobgen.diagnosis.lines.labels import Label, Labeller, line_time, plain
from jobgen.diagnosis.reader import LONGEST_LINE
from jobgen.paths import to_path

_TAIL = 30_000  # bytes at the end of a file
_ABOVE = 300  # lines that are searched for a time


class Line(NamedTuple):
    """A line of a log: its number, its own time, its label, and its text."""

    number: int
    time: float
    label: Label
    text: str


def lines_above(file: str, numbers: Iterable[int]) -> dict[int, list[Line]]:
    """The lines with times above and at lines of a file; none if it cannot be read again."""
    wanted = set(numbers)
    found: dict[int, list[Line]] = {}
    last: deque[tuple[int, bytes]] = deque(maxlen=_ABOVE)
    number = 1
    if not os.path.isfile(to_path(file)):  # stdin, a pipe, or the scheduler
        return found
    with suppress(OSError), open(to_path(file), "rb") as stream:
        for piece in iter(partial(stream.readline, LONGEST_LINE), b""):
            last.append((number, piece))
            if number in wanted:
                found[number] = _with_times(last, path_label(file))
                wanted.remove(number)
            number += piece.endswith(b"\n")
            if not wanted:
                break
    return found


def last_lines(file: str) -> list[Line]:
    """The lines with times at the end of a file; of a long file, without numbers."""
    data = read_plain(os.fspath(to_path(file)), _TAIL, at_end=True)
    lines = enumerate(data.split(b"\n"), 1)
    is_whole = len(data) < _TAIL
    return _with_times(((n if is_whole else 0, line) for n, line in lines), Label())


def _with_times(lines: Iterable[tuple[int, bytes]], base: Label) -> list[Line]:
    """The lines that have a time; those of a kernel say nothing about the job."""
    texts = [(number, plain(line)) for number, line in lines if answer_of(line) != KERNEL]
    labeller = Labeller((text for _, text in texts), base)
    times = ((number, line_time(text), text) for number, text in texts)
    return [Line(n, time, *labeller.split(text)) for n, time, text in times if time is not None]
