"""Reads one file: its lines become events."""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.lines.activities import FrameReader
from jobgen.diagnosis.lines.aftermath import (
    Aftermath,
    AftermathReader,
    complains,
    is_handled,
    says_end,
)
from jobgen.diagnosis.lines.census import Census
from jobgen.diagnosis.lines.labels import Label, Labeller, line_time, plain
from jobgen.diagnosis.lines.last_lines import breaks_off, suspects
from jobgen.diagnosis.lines.matching import (
    LONGEST_TEXT,
    is_foreign,
    is_harmless,
    matches,
    may_matter,
)
from jobgen.diagnosis.lines.process_ends import CrashStacks, exit_status
from jobgen.diagnosis.lines.reports import (
    HEAD,
    LINES_FOLLOWED,
    MOST_TEXT,
    FinalReport,
    Stream,
    Traceback,
    bare_exception,
    begins_traceback,
    may_be_bare,
)
from jobgen.diagnosis.lines.translated import in_english
from jobgen.diagnosis.reader import END, LineReader, shape_of
from jobgen.diagnosis.stacks import LINES_FOLLOWED as STACK_LINES
from jobgen.diagnosis.stacks import StackReader

EVENTS = 5000  # of a file; beyond this number, only new kinds are taken
EVENTS_OF_A_KIND = 40  # events of the same sign on the same rank
TRACEBACK_LINES = 80
STREAMS = 10_000
MOST_BARE = 500
MOST_OF_A_LINE = 8  # events
_RESTART = r"will restart worker group|(?:^|\s)restart_count=(?P<count>[1-9]\d*)\b"
_LOGGED = re.compile(rb"\b(?:WARN(?:ING)?|ERROR)\b")
_NUMBERS = ("rank", "local_rank", "task", "peer_rank", "status")
_NUMBER = r"-?\d{1,9}"


class File:
    """The events and the Python stacks of one file, which may have facts of the scheduler."""

    def __init__(
        self, name: str, reader: LineReader, base: Label, census: Census, *, is_facts: bool = False
    ) -> None:
        self.name = name
        self._reader = reader
        reader.on_block = partial(census.take, is_one_rank=base.rank is not None)
        reader.may_matter = self._may_matter
        self._bare = MOST_BARE  # how many more exceptions without tracebacks are wanted
        self._after = AftermathReader()
        reader.on_other, reader.watches_others = self._after.take, is_facts
        self.labeller = Labeller(map(plain, reader.sample), base)
        self._streams: dict[object, Stream] = {}
        self._report = FinalReport()
        self._logged: set[int] = set()  # tracebacks that the program logged: it went on
        self._handled: set[int] = set()  # tracebacks below what the program did about the error
        self._was_ended = False  # by the scheduler
        self._counts: dict[object, int] = {}
        self._attempt = 0
        self._events: list[Event] = []
        self.stacks = StackReader(name)
        self._crashes = CrashStacks()
        self.frames = FrameReader()

    def read(self, *, grows: bool = False) -> None:
        """Read all lines; of a file that `grows`, those that are new and have an end."""
        for number, line in self._reader.whole_lines() if grows else self._reader:
            self._take(number, plain(line)[:LONGEST_TEXT])
            if self._reader.watches_others:
                self._after.take(shape_of(line), line)

    def _may_matter(self, shape: bytes) -> bool:
        return may_matter(shape) or (self._bare > 0 and may_be_bare(shape))

    @property
    def ends_well(self) -> bool:
        """Whether the job ended well, by the lines behind the last event."""
        return self._after.found.ended_well

    @property
    def says_end(self) -> bool:
        """Whether one of its last lines says that the job ended well."""
        return says_end(self._reader.end[-END:])

    @property
    def breaks_off(self) -> bool:
        """Whether the file ends amid a traceback, or in the frames of a crash."""
        return breaks_off(self._reader.end, self.labeller)

    @property
    def find_suspects(self) -> Callable[[], list[Event]]:
        """What finds the last lines that look like a failure."""
        return partial(suspects, self.name, self._reader.end, self.count, self.labeller)

    def tell_end(self, census: Census) -> None:
        """Tell what the last line of a file shows that nobody writes any more."""
        census.take_end(self.name, self.count, self._reader.end)

    @property
    def lacks(self) -> str:
        """What the file lacks to be a log, as `is empty`; "" if nothing."""
        return self._reader.lacks

    @property
    def count(self) -> int:
        """How many lines were read."""
        return self._reader.count

    @property
    def events(self) -> list[Event]:
        """The events; the last of them knows what has followed it."""
        events = [*self._events]
        self._tell_last(events, self._after.found)
        return events

    def _end_segment(self, events: list[Event], context: int) -> None:
        """Begin to look at what follows these events, the last of a traceback or of a line."""
        self._reader.watches_others = True
        self._tell_last(self._events, self._after.begin(handled=context in self._handled))
        ends = codes_with("scheduler") | {"node-lost"}
        self._was_ended |= any(event.code in ends for event in events)

    def _tell_last(self, events: list[Event], after: Aftermath) -> None:
        """Tell the last event what followed it."""
        index = next((i for i in range(len(events) - 1, -1, -1) if _counts(events[i])), -1)
        if index >= 0:
            last = events[index]
            is_hard = _is_hard(last) and last.context not in self._logged
            shows = partial(after.shows_survival, is_hard=is_hard, is_weak=last.needs_failure)
            events[index] = last._replace(
                survived=shows(is_last=False, was_ended=self._was_ended),
                survived_if_last=shows(is_last=True),
            )

    def _take(self, number: int, line: str) -> None:
        label, written = self.labeller.split(line)
        text = in_english(written) if is_foreign(written) else written
        if "restart" in text and (found := re.search(_RESTART, text)):
            self._attempt = max(self._attempt + (not found["count"]), int(found["count"] or 0))
            self._reader.skip_nothing()
        if self.stacks.take(number, label.node, label.rank, text):
            self._reader.follow(STACK_LINES)
        process = label[:4]  # lines of several processes may be interleaved
        self._take_stack(number, process, text)
        stream = self._stream_of(process, text)
        if HEAD.match(text):
            self._note_announcement(number, process)
        ended = stream.feed(number, text, len(line) - len(written)) if stream else None
        if stream and stream.open:
            self._reader.follow(TRACEBACK_LINES)
        cut = self._taken_back(ended.begin) if ended else []
        text = ended.text if ended else text
        if stream and stream.in_body:
            return  # source code, which a traceback shows
        if self._report.feed(text):
            self._reader.follow(LINES_FOLLOWED)
            label = self._report.label.over(label)
        above = ended.source if ended else plain(self._reader.before[:MOST_TEXT])
        signs = matches(text, above, "" if ended else self._unread(number, above))
        if ended and ended.message and not signs:
            signs = matches(ended.message, above)
        events = list(_events(signs, self._exit_status(text), ended))
        if not (events or ended or (stream and stream.open)):
            events = list(filter(None, [bare_exception(text)]))
            self._bare -= len(events)
        if any(map(_counts, events)):
            self._end_segment(events, ended.begin if ended else 0)
        if events:
            place = {"file": self.name, "line": number, "text": written[:MOST_TEXT]}
            beside = self.frames.texts_of(number, process, above, text)
            place["beside"] = cut[0].beside if cut else beside
            self._add_all(events, place, label, line_time(line))

    def _stream_of(self, process: tuple[object, ...], text: str) -> Stream | None:
        """The stream of a process; it begins with a line that begins a traceback."""
        is_new = process not in self._streams and begins_traceback(text)
        if is_new and len(self._streams) < STREAMS:
            is_one = any(number is not None for number in process[1:])
            self._streams[process] = Stream(is_one_process=is_one)
        return self._streams.get(process)

    def _exit_status(self, text: str) -> Event | None:
        """The event of a process's end in a line, and the time at which torchrun noticed it."""
        status = exit_status(text)
        if status and self._report.noticed is not None:
            noticed = {"noticed": str(self._report.noticed)}
            return status._replace(groups={**status.groups, **noticed})
        return status

    def _taken_back(self, begin: int) -> list[Event]:
        """The events of a traceback that ended in an earlier line, which lacks its message."""
        found = [e for e in self._events[-MOST_OF_A_LINE:] if e.context == begin]
        for event in found:
            self._events.remove(event)
        return found

    def _unread(self, number: int, above: str) -> str:
        """The line above, if it complains, and is of no event."""
        is_read = any(event.line == number - 1 for event in self._events[-MOST_OF_A_LINE:])
        wanted = not is_read and complains(above) and not is_harmless(above)
        return above if wanted else ""

    def _note_announcement(self, number: int, process: object) -> None:
        """Note what the line above a traceback says of it."""
        above = self._reader.before
        if _LOGGED.search(above):
            self._logged.add(number)
        if is_handled(above) and self.labeller.split(plain(above))[0][:4] == process:
            self._handled.add(number)

    def _take_stack(self, number: int, process: object, text: str) -> None:
        """Tell the event of a crash where the program was, by the stack that follows it."""
        self.frames.take(number, process, text)
        if self._crashes.begins(number, process, text):
            self._reader.follow(STACK_LINES)
        begin, where = self._crashes.crashed_at(number, process, text)
        for index in range(len(self._events) - 1, -1, -1) if where else ():
            if self._events[index].line == begin:
                self._events[index] = self._events[index]._replace(where=where)
                return

    def _add_all(
        self, events: list[Event], place: dict[str, Any], label: Label, time: float | None
    ) -> None:
        """Add the events of a line at its place."""
        attempt = self._attempt if label.attempt is None else label.attempt
        place |= label._replace(attempt=attempt)._asdict()
        is_new = False
        for event in events:
            place["time"] = label.time if time is None and event.code else time
            is_new |= self._add(event._replace(**place | _named(event.groups)))
        if not is_new:
            self._reader.skip_alike()

    def _add(self, event: Event) -> bool:
        """Add an event. Returns whether it is none of too many."""
        kind = (event.code, event.role, event.says, event.node, event.rank, event.attempt)
        short = (event.code, event.role)
        self._counts[kind] = self._counts.get(kind, 0) + 1 if len(self._counts) < EVENTS else EVENTS
        few = self._counts[kind] <= EVENTS_OF_A_KIND and len(self._events) < EVENTS
        if few or self._counts.setdefault(short, 0) < EVENTS_OF_A_KIND:
            self._counts[short] = self._counts.get(short, 0) + 1
            self._events.append(event)
            return True
        if self._events and self._events[-1].code == event.code:
            self._events[-1] = event  # the last of too many shows where the failure ends
        return False


def _events(found: list[Event], status: Event | None, ended: Traceback | None) -> Iterator[Event]:
    """The events of one line, which may end a traceback."""
    if ended and ended.is_ignored:
        yield Event("", Role.NOISE, ended.aside)
        return
    for event in found:
        yield event._replace(where=ended.where, context=ended.begin) if ended else event
    if status:
        yield status
    elif ended and (ended.is_launcher_s_own or not found):
        yield ended.event()


def _counts(event: Event) -> bool:
    return event.role is not Role.NOISE


def _is_hard(event: Event) -> bool:
    """Whether an event ended a process or broke a node, so that others' progress shows nothing."""
    ended = event.status or event.context or event.role is Role.CONFIRMATION
    return bool(ended) or event.code in codes_with("repair")


def _named(groups: Mapping[str, str]) -> dict[str, Any]:
    """The nodes and the numbers in the named groups of a pattern, as fields of an event."""
    names = {name: groups[name] for name in ("node", "peer") if groups.get(name)}
    numbers = ((name, groups.get(name, "")) for name in _NUMBERS)
    return names | {name: int(text) for name, text in numbers if re.fullmatch(_NUMBER, text)}
