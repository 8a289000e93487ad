"""What a rank was doing when it failed, by the frames of its traceback and its last lines."""

import os
import re
from collections import deque
from collections.abc import Container, Iterable
from functools import cache, lru_cache

from jobgen.explanation import read_patterns

_FILE = os.path.join(os.path.dirname(__file__), "activities.txt")
_FRAME = r'\s*(?:[|+] )?File "(?P<file>[^"]+)", line \d+, in (?P<function>\S+)'
_MOST_FRAMES = 60  # of a traceback: the last ones count
_APART = 12  # lines between frames of one traceback, or its last frame and its message, at most
_STREAMS = 1000


class FrameReader:
    """Collects the frames of one file's tracebacks, also of those whose beginning is not there."""

    def __init__(self) -> None:
        self._frames: dict[object, deque[str]] = {}
        self._last: dict[object, int] = {}  # the line of the last frame

    def take(self, number: int, process: object, text: str) -> None:
        """Take a line of a process."""
        if 'File "' not in text or not (frame := re.match(_FRAME, text)):
            return
        if len(self._frames) < _STREAMS or process in self._frames:
            frames = self._frames.setdefault(process, deque(maxlen=_MOST_FRAMES))
            if number - self._last.get(process, number) > _APART:
                frames.clear()
            frames.append(f"{frame['file']} in {frame['function']}")
            self._last[process] = number

    def texts_of(self, number: int, process: object, *lines: str) -> tuple[str, ...]:
        """Texts for `activities`: the frames of the traceback in which an event stands, if any.

        Behind them are these lines, beside which it stands.
        """
        near = number - self._last.get(process, -_APART) <= _APART
        return _text(self._frames.pop(process, ()) if near else ()), "\n".join(lines)

    def cut_off(self) -> list[tuple[int, str]]:
        """Where tracebacks break off that have no end in the file, and their frames."""
        return [(self._last[key], _text(each)) for key, each in self._frames.items()]


def words_for(activity: str) -> str:
    """The words for an activity: `it saved a checkpoint`; "" if the name is none's."""
    return next((words for name, words, *_ in _rows() if name == activity), "")


def activities(texts: Iterable[str], wanted: Container[str]) -> tuple[str, ...]:
    """The names of the wanted activities that texts show, of each text the most interesting first.

    Other patterns are not compiled: all of them take longer than the rest of a short log.
    """
    found = (
        name
        for text in filter(None, dict.fromkeys(texts))
        for name, _, parts, pattern in _rows()
        if name in wanted and _has(parts, text.lower()) and _compiled(pattern).search(text)
    )
    return tuple(dict.fromkeys(found))


def _has(parts: Iterable[str], text: str) -> bool:
    return any(part in text for part in parts)


def all_activities() -> frozenset[str]:
    """The names of all activities."""
    return frozenset(name for name, *_ in _rows())


def _text(frames: Iterable[str]) -> str:
    return _shared("\n".join(frames))


@lru_cache(1000)
def _shared(text: str) -> str:
    """The text: tracebacks of thousands of ranks are alike, and events keep their frames."""
    return text


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


@cache
def _rows() -> list[tuple[str, str, list[str], str]]:
    """For each pattern, the name of its activity, the words for it, the parts, and the pattern."""
    with open(_FILE, encoding="utf-8") as stream:
        rows = [*read_patterns(stream.read().partition("\n\n")[2], {})]
    return [(*_read_heading(heading), pattern) for heading, pattern in rows]


def _read_heading(heading: str) -> tuple[str, str, list[str]]:
    name, _, rest = heading.partition(": ")
    words, _, parts = rest.partition(" (")
    return name, words, parts.rstrip(")").split()
