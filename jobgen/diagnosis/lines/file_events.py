"""Reads one file: its lines become events."""

import re
from collections.abc import Iterator
from typing import Any

from jobgen.diagnosis.events import Event
from jobgen.diagnosis.lines.census import Census
from jobgen.diagnosis.lines.final_report import LINES_FOLLOWED, FinalReport, Status, exit_status
from jobgen.diagnosis.lines.labels import Label, Labeller, plain
from jobgen.diagnosis.lines.matching import Matched, matches, may_matter
from jobgen.diagnosis.lines.times import line_time
from jobgen.diagnosis.lines.tracebacks import COLLECTIVE, HEAD, IGNORED, Ended, Stream
from jobgen.diagnosis.reader import LineReader
from jobgen.diagnosis.signs import Role
from jobgen.diagnosis.stacks import LINES_FOLLOWED as STACK_LINES
from jobgen.diagnosis.stacks import StackReader

EVENTS = 5000  # of a file, beyond which only new kinds are taken
EVENTS_OF_A_KIND = 40  # the same sign on the same rank
TRACEBACK_LINES = 80
STREAMS = 10_000
_RESTART = r"will restart worker group|(?:^|\s)restart_count=(?P<count>[1-9]\d*)\b"
_STACKS_COME = "each writes its stack"  # jobgen's, when no rank has written for long
_MOST_TEXT = 400
_NUMBERS = ("rank", "local_rank", "task", "peer_rank", "status")


class File:
    """The events of one file, and what else is seen in it."""

    def __init__(self, name: str, reader: LineReader, base: Label) -> None:
        self.name = name
        self._reader = reader
        self._labeller = Labeller(map(plain, reader.sample), base)
        self._streams: dict[object, Stream] = {}
        self._report = FinalReport()
        self._counts: dict[object, int] = {}
        self._attempt = 0
        self.events: list[Event] = []
        self.census = Census(is_one_rank=base.rank is not None)
        self.stacks = StackReader(name)

    def read(self) -> None:
        """Read all lines."""
        self._reader.on_block = self.census.take
        self._reader.may_matter = may_matter
        for number, line in self._reader:
            self._take(number, plain(line))

    @property
    def lines(self) -> int:
        """How many lines it has."""
        return self._reader.count

    def _take(self, number: int, line: str) -> None:
        label, text = self._labeller.split(line)
        self._count_restart(text)
        if self.stacks.take(number, label.node, label.rank, text) or _STACKS_COME in text:
            self._reader.follow(STACK_LINES)
        ended = self._traceback(number, label, text)
        stream = self._streams.get(label.stream())
        if stream and stream.in_body:
            return  # source code, which a traceback shows
        if self._report.feed(text):
            self._reader.follow(LINES_FOLLOWED)
            label = self._report.label.over(label)
        found, status = matches(text), exit_status(text)
        if not (found or status or ended):
            return
        place = Event(
            "", Role.TEARDOWN, "", self.name, number, text[:_MOST_TEXT], label.node, label.rank,
            label.local_rank, label.task, line_time(line),
            self._attempt if label.attempt is None else label.attempt,
        )  # fmt: skip
        for event in _events(place, found, status, ended):
            self._add(event)

    def _count_restart(self, text: str) -> None:
        if "restart" in text and (found := re.search(_RESTART, text)):
            self._attempt = max(self._attempt + (not found["count"]), int(found["count"] or 0))

    def _traceback(self, number: int, label: Label, text: str) -> Ended | None:
        stream = self._streams.get(label.stream())
        if HEAD.match(text):
            self._reader.follow(TRACEBACK_LINES)
            if stream is None and len(self._streams) < STREAMS:
                stream = self._streams[label.stream()] = Stream()
        elif (stream is None and IGNORED.search(text)) or "Exception in thread" in text:
            stream = self._streams.setdefault(label.stream(), Stream())
        ended = stream.feed(number, text) if stream else None
        if stream and stream.open:
            self._reader.follow(TRACEBACK_LINES)
        return ended

    def _add(self, event: Event) -> None:
        kind = (event.code, event.role, event.says, event.node, event.rank, event.attempt)
        short = (event.code, event.role)
        self._counts[kind] = self._counts.get(kind, 0) + 1 if len(self._counts) < EVENTS else EVENTS
        few = self._counts[kind] <= EVENTS_OF_A_KIND and len(self.events) < EVENTS
        if few or self._counts.setdefault(short, 0) < EVENTS_OF_A_KIND:
            self._counts[short] = self._counts.get(short, 0) + 1
            self.events.append(event)
        else:
            self._last(event)

    def _last(self, event: Event) -> None:
        """Of too many of a kind, the last one is remembered: it shows where the failure ends."""
        if self.events and self.events[-1].code == event.code:
            self.events[-1] = event


def _events(
    place: Event, found: list[Matched], status: Status | None, ended: Ended | None
) -> Iterator[Event]:
    """The events of one line, which may end a traceback."""
    if ended and ended.is_ignored:
        return
    for each in found:
        yield _event(each, place, ended)
    if status:
        number, groups = status
        says = f"exit status {number}" if number is not None else "the launcher ended"
        yield _named(place, groups)._replace(says=says, status=number)
    elif ended and ended.is_launcher_s_own:
        yield place._replace(says="a launcher ended", status=1)
    elif ended and not found and re.search(COLLECTIVE, ended.type):
        says = "a collective failed, or the store that the ranks meet at"
        yield place._replace(code="peer-lost", role=Role.CONSEQUENCE, says=says, reporter=True)
    elif ended and not found:
        yield place._replace(
            code="python-exception", role=Role.CAUSE, says=ended.text[:_MOST_TEXT],
            where=ended.where, context=ended.begin,
        )  # fmt: skip


def _event(each: Matched, place: Event, ended: Ended | None) -> Event:
    sign, groups = each.sign, each.groups
    return _named(place, groups)._replace(
        code=each.code,
        role=sign.role,
        says=each.says,
        peer=groups.get("peer", ""),
        groups=groups,
        certainty=sign.certainty,
        needs_failure=sign.needs_failure,
        reporter=sign.reporter or sign.role is Role.CONSEQUENCE,
        where=ended.where if ended else "",
        context=ended.begin if ended else 0,
    )


def _named(place: Event, groups: dict[str, str]) -> Event:
    """The event with the node and the numbers that a pattern found."""
    numbers: dict[str, Any] = {name: _number(groups[name]) for name in _NUMBERS if groups.get(name)}
    return place._replace(node=groups.get("node") or place.node, **numbers)


def _number(text: str) -> int | None:
    return int(text) if text.lstrip("-").isdigit() and len(text) < 10 else None
