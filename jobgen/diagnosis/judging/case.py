"""The events and facts in the files of a job, and which events belong to its failure."""

import re
from collections.abc import Callable, Iterable
from itertools import groupby

from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.lines.census import Census
from jobgen.diagnosis.stacks import Stack

CAUSES = (Role.CAUSE, Role.CONFIRMATION)
# After so many lines without an event at the end, the job went on well; between two failures, so
# many lines show that the job got over the first failure.
WENT_ON = 60
AT_THE_END = 2  # lines that a message may have behind its first line
GOT_OVER = 1500
CAUGHT = 300  # lines after an exception, which may have been caught
LONG_AGO = 3 * 3600.0  # seconds; a collective's timeout is shorter
MOST_ENDS = 30  # of files, that are kept in memory
MOST_SUSPECTS = 1000
MESSAGE = 13  # lines of an exception's message
# In a file's name, what tells apart the two streams of one process: train.out and train.err.
_STREAM = r"(?<=std)(?:out|err)|(?<=[._-])(?:out|err)(?![a-z])|(?<=\.)[oe](?=\d)"


class Case(Census):
    """The events of a job's files, in the order of the files, and facts from all their lines."""

    def __init__(self) -> None:
        super().__init__()
        self.events: list[Event] = []
        self.lines: dict[str, int] = {}  # how many lines each file has
        self.seen: set[int] = set()  # the ranks of all events
        self.stacks: list[Stack] = []
        # The file and line of tracebacks that are cut off, and their frames.
        self.cut_off: list[tuple[str, int, str]] = []
        self.stacks_are_ordered = False
        self.facts: set[str] = set()  # the files with facts of the scheduler
        self.kernels: set[str] = set()  # the files with a node's notes, also from before the job
        self.answers: dict[str, str] = {}  # what NCCL's RAS answered, by file
        self.ended_well: set[str] = set()  # the files in which the scheduler says so
        self.says_end = False  # whether a file says that the job ended well; unknown with events
        self.states: dict[str, dict[str, str]] = {}  # of the jobs in the scheduler's facts, by file
        self.jobs: dict[str, set[str]] = {}  # whose answers of the scheduler they are, by file
        self.no_logs: list[str] = []  # which files are no logs, and why
        self.ends: list[Callable[[], list[Event]]] = []  # what finds suspects in a file's end
        self.suspects: list[Event] = []  # lines that look like a failure; no class knows them
        self.breaks_off = False  # whether a file ends amid a traceback
        self.survived: list[Event] = []  # what the job got over

    def add_end(self, find: Callable[[], list[Event]]) -> None:
        """Add what finds the suspects in a file's end: most verdicts need none."""
        self.ends.append(find)
        if len(self.ends) > MOST_ENDS:
            self.find_suspects()

    def find_suspects(self) -> list[Event]:
        """The suspects in the ends of all files so far."""
        for find in self.ends:
            self.suspects += find() if len(self.suspects) < MOST_SUSPECTS else []
        self.ends.clear()
        return self.suspects

    @property
    def everybody(self) -> set[int]:
        """All ranks, as far as the log shows them."""
        return set(range(self.world)) or self.ranks | self.seen

    def node_of(self, rank: int | None) -> str | None:
        """The node of a rank, if it is known."""
        return self.rank_nodes.get(rank) if rank is not None else None


def of_the_failure(case: Case) -> list[Event]:
    """The events that belong to the failure with which the job ended."""
    places = {file: index for index, file in enumerate(case.lines)}
    events = _without_old_notes([e for e in case.events if e.role is not Role.NOISE], case)
    events.sort(key=lambda event: (places.get(event.file, len(places)), event.line))
    files = {file: [*own] for file, own in groupby(events, key=lambda event: event.file)}
    files = {file: left for file, own in files.items() if (left := _without_survived(own, case))}
    failed = _shows_failure(event for own in files.values() for event in own)
    if case.ended_well and not any(e.status for own in files.values() for e in own):
        return []
    rest: list[Event] = []
    for file, own in files.items():
        rest += _of_file(own, case.lines.get(file, 0), failed)
    if not failed and not any(event.context for event in rest):
        sure = [event for event in rest if not event.needs_failure]
        rest = rest if sure else _perhaps(rest, case)
    return _without_repeats(_numbered(rest, case))


def _without_old_notes(events: list[Event], case: Case) -> list[Event]:
    """The events without those that a kernel noted hours before or after the job's own lines."""
    times = [e.time for e in events if e.file not in case.kernels and e.time is not None]
    first, last = min(times, default=0.0) - LONG_AGO, max(times, default=0.0) + LONG_AGO
    return [
        event
        for event in events
        if not (times and event.file in case.kernels)
        or event.time is None
        or first <= event.time <= last
    ]


def _shows_failure(events: Iterable[Event]) -> bool:
    """Whether something shows that a process or the job ended badly."""
    ended = (Role.CONFIRMATION, Role.CONSEQUENCE, Role.TEARDOWN)
    return any(
        event.role in ended and not event.needs_failure if event.code else event.status != 0
        for event in events
    )


def _without_survived(events: list[Event], case: Case) -> list[Event]:
    """The events of a file behind the last that the job got over, which `case` remembers."""
    last = len(events) - 1
    begin = next(
        (i + 1 for i in range(last, -1, -1) if _is_survived(events[i], is_last=i == last)), 0
    )
    case.survived += [event for event in events[:begin] if event.code and event.role in CAUSES]
    return events[begin:]


def _is_survived(event: Event, *, is_last: bool) -> bool:
    return event.survived_if_last if is_last else event.survived


def _perhaps(events: list[Event], case: Case) -> list[Event]:
    """The causes at the end of their files, as possible ones: nothing shows that one was got over.

    The other stream of the same process may show it. Where a file ends amid a traceback, they may
    stand anywhere.
    """
    only = groupby(of_only_streams(events, case), key=lambda each: each.file)
    last = ([*own] if case.breaks_off else _at_the_end([*own], case) for _, own in only)
    causes = (event for found in last for event in found if event.role is Role.CAUSE)
    return [event._replace(certainty="possible") for event in causes]


def of_only_streams(events: list[Event], case: Case) -> list[Event]:
    """The events of processes that have one stream each: nothing else shows what they did."""
    streams = [re.sub(_STREAM, "", file) for file, lines in case.lines.items() if lines]
    return [e for e in events if streams.count(re.sub(_STREAM, "", e.file)) == 1]


def _at_the_end(events: list[Event], case: Case) -> list[Event]:
    """The events at the end of their file, behind which the job wrote nothing else."""
    last: list[Event] = []
    for event in reversed(events):
        end = last[0].line if last else case.lines.get(event.file, 0)
        if end - event.line > AT_THE_END:
            break
        last.insert(0, event)
    return last


def _of_file(events: list[Event], lines: int, failed: bool) -> list[Event]:
    if not failed and lines - events[-1].line > WENT_ON:
        return []
    has_cause = False
    for index in range(len(events) - 1, 0, -1):
        has_cause |= events[index].role in CAUSES and not events[index].reporter
        if has_cause and _is_over(events[index - 1], events[index]):
            return events[index:]
    return events


def _is_over(earlier: Event, later: Event) -> bool:
    """Whether the job went on so long between two events that they are two failures."""
    times = earlier.time, later.time
    if times[0] is not None and times[1] is not None and times[1] - times[0] > LONG_AGO:
        return True
    lines = (later.context or later.line) - earlier.line
    return lines > (CAUGHT if earlier.context else GOT_OVER)


def _without_repeats(events: list[Event]) -> list[Event]:
    """The events without a traceback's last line, if the lines of its message say more."""
    lines: dict[object, set[int]] = {}
    for event in events:
        says_more = event.code and event.code not in codes_with("plain")
        if says_more and event.role is not Role.TEARDOWN:
            lines.setdefault(_stream(event), set()).add(event.line)
    return [
        event
        for event in events
        if event.code != "python-exception"
        or lines.get(_stream(event), set()).isdisjoint(range(event.line + 1, event.line + MESSAGE))
    ]


def _stream(event: Event) -> object:
    return event.file, event.node, event.rank, event.local_rank, event.task


def _numbered(events: list[Event], case: Case) -> list[Event]:
    """The events, with the rank of their process, task or local rank, if that rank is clear."""
    by_process: dict[object, int | None] = {}
    for event in events:
        if event.rank is None:
            continue
        if event.node:
            case.rank_nodes.setdefault(event.rank, event.node)
        for key in _processes(event):  # two agents of one log have the same local ranks
            same = by_process.setdefault(key, event.rank) == event.rank
            by_process[key] = event.rank if same else None
    one_node = _is_on_one_node(case, events)
    numbered = [_with_rank(event, case, by_process, one_node) for event in events]
    case.seen |= {event.rank for event in numbered if event.rank is not None}
    return numbered


def _is_on_one_node(case: Case, events: list[Event]) -> bool:
    """Whether all ranks are surely on one node, so that a local rank is the rank."""
    nodes = {event.node for event in events if event.node} | {*case.rank_nodes.values()}
    if len(nodes) > 1 or any(event.task for event in events):
        return False
    ranks = 1 + max((e.local_rank for e in events if e.local_rank is not None), default=-1)
    has_no_room = ranks <= case.world < 2 * ranks  # for another node with as many ranks
    return has_no_room or 0 < case.world <= len(case.rank_nodes)


def _processes(event: Event) -> list[object]:
    """Keys that identify a rank's process on lines without a rank; the best key comes first."""
    keys: list[object] = [(event.file, "pid", event.pid)] if event.pid else []
    return keys + ([(event.file, event.local_rank)] if event.local_rank is not None else [])


def _with_rank(
    event: Event, case: Case, by_process: dict[object, int | None], one_node: bool
) -> Event:
    rank = event.rank
    if rank is None and event.task is not None and "torchrun" not in case.launchers:
        rank = event.task
    keys = _processes(event) if rank is None else []
    found = [key for key in keys if key in by_process]
    if found:
        rank = by_process[found[0]]
    elif rank is None and one_node:
        rank = event.local_rank
    return event._replace(rank=rank, node=event.node or case.node_of(rank))
