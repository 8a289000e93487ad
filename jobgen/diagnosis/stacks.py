"""Python stacks in a log, as SIGABRT or py-spy prints them: where the ranks of a hang differ.

With PYTHONFAULTHANDLER=1 a rank that gets SIGABRT prints the stack of each of its threads, the main
one last (CPython, Python/traceback.c, _Py_DumpTracebackThreads). `py-spy dump` names threads.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from jobgen.diagnosis.events import Event, Role

LINES_FOLLOWED = 200  # lines read after a stack's line: lines of other ranks lie between
MOST_STACKS = 20_000
_ORDER = "each writes its stack"  # jobgen writes this when no rank has written for long
MOST_FRAMES = 100
MOST_EVENTS = 8
_RANKS_SHOWN = 6

# Not `Fatal Python error: Segmentation fault`, which is no hang. Of a dump of py-spy, the second
# line: programs write lines such as its first, `Process 0: …`.
_BEGIN = (
    r"^(?:Fatal Python error: Aborted|Timeout \(\d+:\d\d:\d\d(?:\.\d+)?\)!)\s*$"
    r"|^Python v\d+\.\d\S* \(\S.*\)\s*$"
)
_BEGINNINGS = ("Fatal Python error: ", "Timeout (", "Python v")
_THREAD = r"^(?:Current thread|Thread) 0x[0-9a-f]+ (?:\[[^\]]*\] )?\(most recent call first\):\s*$"
FRAME = r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+) in (?P<function>\S+)\s*$'
_SPY_THREAD = r'^Thread (?:0x[0-9A-Fa-f]+|\d+) \([^)]*\): "(?P<name>[^"]*)"'
_SPY_FRAME = r"^\s+(?P<function>[^\s(]+) \((?P<file>[^():]+):(?P<line>\d+)\)\s*$"

LIBRARY = r"/(?:site|dist)-packages/|/lib(?:64)?/python\d|/torch/|^<(?!stdin>|string>)"
# py-spy shortens the paths of packages.
_SPY_LIBRARY = r"^(?:torch|multiprocessing|threading|queue|selectors|socket|ssl)[/.]"
_COLLECTIVES = r"torch/distributed/(?:distributed_c10d|_functional_collectives)\.py$"
_INNER = r"^(?:_|wrapper$|wait$|<)"


class Stack(NamedTuple):
    """The main thread's frames of one process, the innermost first: (file, line, function)."""

    file: str
    line: int
    node: str | None
    rank: int | None
    frames: list[tuple[str, str, str]]

    @property
    def collective(self) -> str:
        """The collective operation in which the process waits; "" if it waits in none."""
        inside = (name for file, _, name in self.frames if re.search(_COLLECTIVES, file))
        return next((name for name in inside if not re.match(_INNER, name)), "")

    @property
    def own_frame(self) -> str:
        """The innermost line of the user's program, as `data.py:88 load`."""
        for file, line, function in self.frames:
            if not re.search(LIBRARY, file) and not re.match(_SPY_LIBRARY, file):
                return f"{file.rpartition('/')[2]}:{line} {function}"
        return ""

    @property
    def place(self) -> str:
        """The place where the process is, which differs between the ranks of a hang."""
        return self.collective or self.own_frame or (self.frames[0][2] if self.frames else "")


class StackReader:
    """Collects the stacks of a log, from lines without their labels."""

    def __init__(self, file: str) -> None:
        self.stacks: list[Stack] = []
        self.are_ordered = False  # all ranks were told to write their stacks
        self._file = file
        self._open: dict[object, Stack] = {}
        self._in_main: dict[object, bool] = {}  # whether the main thread's frames are being read

    def take(self, number: int, node: str | None, rank: int | None, text: str) -> bool:
        """Take a line. Returns whether the lines after it may belong to a stack."""
        key = (node, rank)
        if _ORDER in text:
            self.are_ordered = True
            return True
        if text.startswith(_BEGINNINGS) and re.match(_BEGIN, text):
            if len(self.stacks) < MOST_STACKS:
                self._open[key] = Stack(self._file, number, node, rank, [])
                self._in_main[key] = False
                self.stacks.append(self._open[key])
            return True
        return key in self._open and self._part(key, text)

    def _part(self, key: object, text: str) -> bool:
        stack = self._open[key]
        if re.match(_THREAD, text):
            stack.frames.clear()  # the main thread is the last
            self._in_main[key] = True
        elif thread := re.match(_SPY_THREAD, text):
            self._in_main[key] = thread["name"] == "MainThread"
        elif frame := re.match(FRAME, text) or re.match(_SPY_FRAME, text):
            if self._in_main[key] and len(stack.frames) < MOST_FRAMES:
                stack.frames.append((frame["file"], frame["line"], frame["function"]))
        elif text.startswith("Extension modules:"):
            del self._open[key]
            return False
        return True


def stalled_ranks(
    stacks: Iterable[Stack], world: int = 0, *, on_request: bool = False
) -> list[Event]:
    """Events for the ranks whose stack differs from the others'.

    `world` is the number of ranks, if the log has it: then ranks without a stack are known, too.
    A single stack counts only if it was written `on_request`: otherwise the rank has crashed.
    """
    first = _first_of_each(stacks)
    if len(first) < 2:
        alone = first if on_request else []
        return [_event(each, f"it is in {each.place}", "sure") for each in alone]
    waiting = [stack for stack in first if stack.collective]
    outside = [stack for stack in first if not stack.collective]
    if waiting and outside:
        return _outside(waiting, outside)
    return _minority(first) or _same(first, world)


def _first_of_each(stacks: Iterable[Stack]) -> list[Stack]:
    """The first stack of each rank: py-spy and SIGABRT print one each, and restarts print more."""
    found: dict[object, Stack] = {}
    for stack in stacks:
        if stack.place:
            key = (stack.node, stack.rank) if stack.rank is not None else (stack.file, stack.line)
            found.setdefault(key, stack)
    return list(found.values())


def _outside(waiting: list[Stack], outside: list[Stack]) -> list[Event]:
    """Events for the ranks in no collective operation: the other ranks wait for them."""
    if len(outside) > max(1, len(waiting)):
        counts = Counter(map(_full, outside)).most_common(2)
        places = ", ".join(f"{count} in {place}" for place, count in counts)
        text = f"{where_they_are(waiting)}, and {len(outside)} others are not: {places}"
        return [_of_all(outside[0], text, "possible")]
    others = where_they_are(waiting)
    return [_event(s, f"it is in {s.place}, while {others}", "sure") for s in outside[:MOST_EVENTS]]


def _minority(stacks: list[Stack]) -> list[Event]:
    """Events for the ranks at a rare place, if more than half of the ranks are at one place."""
    counts = Counter(stack.place for stack in stacks)
    (place, most), *others = counts.most_common()
    if not others or most * 2 <= len(stacks):
        return []
    code = "desync" if stacks[0].collective else "stalled"
    usual = [stack for stack in stacks if stack.place == place]
    most_are = f"{_text(usual)} in {_full(usual[0])}"
    rare = [stack for stack in stacks if stack.place != place][:MOST_EVENTS]
    return [_event(s, f"it is in {_full(s)}, while {most_are}", "likely", code) for s in rare]


def _same(stacks: list[Stack], world: int) -> list[Event]:
    """Events for ranks that are all at one place, or at places none of which is usual."""
    ranks = {stack.rank for stack in stacks if stack.rank is not None}
    absent = sorted(set(range(world)) - ranks) if len(ranks) == len(stacks) else []
    text = where_they_are(stacks)
    if 0 < len(absent) <= len(stacks) // 2 and len({stack.place for stack in stacks}) == 1:
        event = _of_all(stacks[0], f"it printed no stack, while {text}", "likely")
        return [event._replace(rank=rank) for rank in absent[:MOST_EVENTS]]
    return [_of_all(stacks[0], text, "possible")]


def _of_all(stack: Stack, says: str, certainty: str, code: str = "stalled") -> Event:
    return Event(code, Role.CONFIRMATION, says, stack.file, stack.line, certainty=certainty)


def _event(stack: Stack, says: str, certainty: str, code: str = "stalled") -> Event:
    event = _of_all(stack, says, certainty, code)
    return event._replace(node=stack.node, rank=stack.rank, where=stack.own_frame)


def _full(stack: Stack) -> str:
    own = f" ({stack.own_frame})" if stack.collective and stack.own_frame else ""
    return stack.place + own


def where_they_are(stacks: list[Stack]) -> str:
    """The places of ranks as text: `ranks 0, 1 are in all_reduce (train.py:23 main)`."""
    places = [place for place, _ in Counter(map(_full, stacks)).most_common(2)]
    return f"{_text(stacks)} in {' and '.join(places)}"


def _text(stacks: list[Stack]) -> str:
    """The subject and verb of a sentence on ranks: it lists a few ranks, or says how many."""
    ranks = sorted(stack.rank for stack in stacks if stack.rank is not None)
    if len(ranks) < len(stacks):
        return f"{len(stacks)} processes are" if stacks[1:] else "another process is"
    if len(ranks) > _RANKS_SHOWN:
        return f"{len(ranks)} ranks are"
    word = "rank" if len(ranks) == 1 else "ranks"
    return f"{word} {', '.join(map(str, ranks))} {'is' if len(ranks) == 1 else 'are'}"
