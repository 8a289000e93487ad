"""Knows when each rank of a running job wrote last, and what."""

import re
import time
from math import log2
from typing import NamedTuple

from jobgen.diagnosis.job_folder.silence import in_words
from jobgen.diagnosis.judging.places import name_of
from jobgen.diagnosis.lines.census import MOST
from jobgen.diagnosis.lines.labels import Label, plain
from jobgen.diagnosis.live.growing_file import GrowingFile
from jobgen.diagnosis.report import shortened

_LONG = 300.0  # seconds of silence that are worth a line, as are twice as many, and so on
_ALIKE = 0.1  # of the longest silence: ranks whose silences differ less are silent alike
_SHOWN = 100  # characters of a line


class Written(NamedTuple):
    """The last line of a rank, of a node, or of anybody (without a name)."""

    time: float
    name: str
    text: str


class Writers:
    """The last line of each rank, and of each other label."""

    def __init__(self) -> None:
        self._last: dict[object, Written] = {}

    def take(self, file: GrowingFile, *, are_tasks_ranks: bool) -> None:
        """Take what is new in a file."""
        lines = [line for line in re.split(rb"[\r\n]+", file.news) if line.strip()]
        file.news = b""  # of thousands of files, it would be much memory
        is_one_rank = file.label[:3] != Label()[:3]
        for line in map(plain, lines[-1:] if is_one_rank else lines):
            label, text = file.lines.labeller.split(line) if file.lines else (Label(), line)
            label = file.label.over(label)
            rank = label.task if are_tasks_ranks and label.rank is None else label.rank
            name = name_of(label.node, rank, label.local_rank)
            key = name if rank is None else rank  # not each of its lines may have the node
            if key in self._last:
                name = max(name, self._last[key].name, key=len)
            if key in self._last or len(self._last) < MOST:
                self._last[key] = Written(file.changed, name, shortened(text, _SHOWN))

    def silence(self) -> tuple[object, str]:
        """A sentence on the longest silence, and what is new in it, if it is worth a line."""
        found = [*self._last.values()]
        if not found:
            return None, "nothing is written yet"
        ranks = [each for each in found if re.match("(local )?rank ", each.name)]
        found = sorted(ranks or [each for each in found if each.name] or found)
        first, last = found[0], found[-1]
        age, last_age = (max(0.0, time.time() - each.time) for each in (first, last))
        alike = sum(each.time - first.time <= max(_ALIKE * age, 2.0) for each in found)
        if alike == len(found):
            who = f"was {last.name}" if last.name else "line"
            text = f"no rank has written for {in_words(last_age)}; the last {who}: {last.text}"
        else:
            who = f"{first.name} and {alike - 1} more" if alike > 1 else first.name
            text = f"silent for longest: {who}, for {in_words(age)}"
            text += "" if alike > 1 else f": {first.text}"
            text += f"; {last.name} wrote {in_words(last_age)} ago: {last.text}"
        return (int(log2(age / _LONG)), first.name) if age >= _LONG else None, text
