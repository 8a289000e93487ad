"""The moments of a failure, in the order of their times, and what is uncertain about that order."""

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from jobgen.diagnosis.events import SCHEDULER, Event, Role, Verdict
from jobgen.diagnosis.files import path_label
from jobgen.diagnosis.judging.explain import CLOCKS
from jobgen.diagnosis.lines.labels import Labeller, line_time
from jobgen.diagnosis.timeline.stamps import Line, last_lines, lines_above

FIRST, FOLLOWED, ENDED, LAST, BEGAN = "X", "+", "#", "o", "|"
MARKS = {
    FIRST: "failed first",
    FOLLOWED: "followed, or reported it",
    ENDED: "ended",
    LAST: "last line before",
    BEGAN: "the job began",
}
_FACT = re.compile(r"(?:sacct|scontrol|qstat): ")
_START = re.compile(r"\b(?:Start(?:Time)?|stime)=(?=\S)")
_OF_A_RANK = "/stderr.log"
_ZONES = 900.0  # seconds: no clock of a node is so wrong


class Moment(NamedTuple):
    """An event, or a line before it; `node` is "" if nothing names it."""

    mark: str
    time: float | None  # as in Event
    node: str
    rank: int | None
    says: str
    file: str
    line: int
    is_exact: bool = True  # else the time is that of a line above

    @property
    def source(self) -> str:
        """The file, and the line if it has lines."""
        return f"{self.file}:{self.line}" if self.line else self.file


def moments_of(verdict: Verdict) -> list[Moment]:
    """The moments of a verdict by time; those without a time come first if its own has none."""
    lines = _by_line((*verdict.evidence[:1], *verdict.chain))
    numbers: dict[str, set[int]] = {}
    for file, number in sorted(lines):
        event, own = lines[file, number][0], numbers.setdefault(file, set())
        if number and (event.time is None or not own):
            own.add(event.context or number)
    above = {file: lines_above(file, wanted) for file, wanted in numbers.items()}
    found = [_moment(each, verdict, above[file]) for (file, _), each in lines.items()]
    begin = found[0].time if found and verdict.code else None
    found = [_not_before(each, begin) for each in found]
    for file, (event, *_) in {file: each for (file, _), each in reversed(lines.items())}.items():
        found += _last_lines(event, above[file], begin)
    found += _began(verdict.chain)
    is_timed = begin is not None

    def order(moment: Moment) -> tuple[bool, float, bool, float]:
        time = moment.time or 0.0
        is_behind = (moment.time is None) == is_timed
        return is_behind, time // 1, moment.mark not in (BEGAN, LAST, FIRST), time

    return sorted(found, key=order)


def _by_line(events: Iterable[Event]) -> dict[tuple[str, int], list[Event]]:
    """The events of each line, those that say more first."""
    lines: dict[tuple[str, int], list[Event]] = {}
    for event in events:
        lines.setdefault((event.file, event.line), []).append(event)
    return {place: sorted(each, key=lambda e: not e.code) for place, each in lines.items()}


def _moment(events: list[Event], verdict: Verdict, above: dict[int, list[Line]]) -> Moment:
    """The moment of a line; that of the main event has the place that the verdict names."""
    event, main = events[0], verdict.evidence[:1]
    node, rank, says = event.node or "", event.rank, event.says or event.text.strip()
    is_fact = bool(_FACT.match(event.text))
    is_end = is_fact or any(not e.code or e.role is Role.TEARDOWN for e in events)
    mark = ENDED if is_end else FOLLOWED
    if main and (event.file, event.line) == (main[0].file, main[0].line):
        mark, says = FIRST if verdict.code else mark, verdict.says
        node, rank = verdict.node or node, rank if verdict.one_of else verdict.rank
    elif event.code == verdict.code and (verdict.one_of or verdict.everywhere):
        mark = FIRST
    lines = above.get(event.context or event.line, [])
    time, is_exact = event.time, event.time is not None
    if time is None and lines:
        time = lines[-1].time
    node = SCHEDULER if is_fact else node
    is_exact |= time is None
    return Moment(mark, time, node, rank, says, event.file, event.line, is_exact)


def _not_before(moment: Moment, begin: float | None) -> Moment:
    """The moment; what followed from the first failure, at an unknown time, was not before it."""
    if begin is None or moment.time is None or moment.is_exact:
        return moment
    return moment._replace(time=max(begin, moment.time))


def _began(events: Iterable[Event]) -> Iterator[Moment]:
    """When the job began, as its scheduler says."""
    for event in events:
        if _FACT.match(event.text) and (found := _START.search(event.text)):
            time = line_time(event.text[found.end() :])
            if time is not None:
                yield Moment(BEGAN, time, SCHEDULER, None, MARKS[BEGAN], event.file, event.line)
                return


def _last_lines(
    event: Event, above: dict[int, list[Line]], begin: float | None
) -> Iterator[Moment]:
    """The last lines of each node before the first event of a file, by the node's own clock.

    What a rank had written is in its other file, too.
    """
    end = min(above, default=0)
    lines = {event.file: [each for each in above.get(end, []) if each.number < end]}
    own = event._replace(node=None, rank=None)
    if event.file.endswith(_OF_A_RANK):
        other = f"{event.file.removesuffix(_OF_A_RANK)}/stdout.log"
        lines[other], own = last_lines(other), event
    for file, each in lines.items() if not _FACT.match(event.text) else ():
        labeller = Labeller((line.text for line in each), path_label(file))
        before = [line for line in each if begin is None or line.time <= begin]
        labels = [labeller.split(line.text) for line in before]
        nodes = [label.node or own.node or "" for label, _ in labels]
        for index in {node: index for index, node in enumerate(nodes)}.values():
            line, (label, text) = before[index], labels[index]
            rank = own.rank if label.rank is None else label.rank
            yield Moment(LAST, line.time, nodes[index], rank, text, file, line.number)


def notes_on(moments: list[Moment], verdict: Verdict) -> Iterator[str]:
    """What is uncertain about the order of the moments."""
    timed = [(each.time, each) for each in moments if each.time is not None]
    if moments and not timed:
        yield "no line has a time: this is the order of the lines, and of files one after the other"
    if timed and verdict.evidence and verdict.evidence[0].reporter:
        yield "X is when others noticed it; see the last line of that node"
    if any(not each.is_exact for _, each in timed):
        yield "~ the line has no time of its own: it was written later than this"
    begin, first = next((each for each in timed if each[1].mark == FIRST), (0.0, None))
    others = [(time, m) for time, m in timed if m.mark in (FOLLOWED, ENDED) and m.is_exact]
    gaps = [time - begin for time, m in others if first and m.node != first.node]
    if any(abs(gap) <= CLOCKS for gap in gaps):
        yield f"clocks of nodes differ: what is within {CLOCKS:.0f} s of X may have been before it"
    if any(gap < -CLOCKS for gap in gaps):
        yield "other nodes have earlier times than X: their clocks differ, or X was noted late"
    began = next((time for time, each in timed if each.mark == BEGAN), None)
    if began and any(time < began - _ZONES for time, each in timed if each.is_exact):
        yield "lines are older than the job: the time zones of the log and the scheduler may differ"
