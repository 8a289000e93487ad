"""What a rank was doing when it failed, by the frames of its traceback and its last lines."""

import os
import re
from collections import deque
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

    def activities_of(self, number: int, process: object, *lines: str) -> tuple[str, ...]:
        """What a process was doing in whose traceback, or beside these lines, an event stands."""
        near = number - self._last.get(process, -_APART) <= _APART
        frames = self._frames.pop(process, ()) if near else ()
        return tuple(dict.fromkeys(_activities(tuple(frames)) + _activities(lines)))

    def cut_off(self) -> list[tuple[int, tuple[str, ...]]]:
        """Where tracebacks break off that have no end in the file, and what was being done."""
        return [(self._last[key], _activities(tuple(each))) for key, each in self._frames.items()]


def words_for(activity: str) -> str:
    """The words for an activity: `it saved a checkpoint`; "" if the name is none's."""
    return next((words for name, words, _ in _patterns() if name == activity), "")


@lru_cache(1000)
def _activities(lines: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the activities that lines show, the most interesting first."""
    text = "\n".join(lines)
    found = (name for name, _, pattern in _patterns() if text and pattern.search(text))
    return tuple(dict.fromkeys(found))


@cache
def _patterns() -> list[tuple[str, str, re.Pattern[str]]]:
    with open(_FILE, encoding="utf-8") as stream:
        rows = [*read_patterns(stream.read().partition("\n\n")[2], {})]
    parts = [(*heading.partition(": ")[::2], pattern) for heading, pattern in rows]
    return [(name, words, re.compile(pattern, re.MULTILINE)) for name, words, pattern in parts]
