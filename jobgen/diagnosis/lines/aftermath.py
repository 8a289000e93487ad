"""What a job wrote after an event: whether it went on, so that it survived what the event says."""

import os
import re
from functools import cache
from typing import NamedTuple

from jobgen.diagnosis.reader import SHAPES
from jobgen.explanation import read_patterns

ENOUGH = 3  # lines of progress with growing numbers: the other ranks end at their next collective
_FOLLOWED = 2000  # lines after an event that are looked at
_LONGEST = 400  # bytes of a line
_DIGITS = 18  # of a number that is compared
_COMPLAINT = r"(?i)\b(?:error|failed|failure|killed|aborted|fatal|unable|cannot|timed out)\b"
# What introduces another line, quotes a program, is of jobgen, or has no two words.
_INTRODUCES = (
    r"(?::|\.\.\.)\s*$|\bterminate called\b|\braise \w|\bINFO\b|\] {2,}\S|^jobgen: |^\W*\w+\W*$"
)
_FILE = os.path.join(os.path.dirname(__file__), "aftermath.txt")


class Aftermath(NamedTuple):
    """What the lines between an event and the next event show."""

    progress: int = 0  # lines of progress with numbers that grew, at most ENOUGH
    handled: bool = False  # a line says what the program did about it
    restarted: bool = False
    ended_well: bool = False

    def shows_survival(
        self, *, is_last: bool, is_hard: bool, is_weak: bool, was_ended: bool = False
    ) -> bool:
        """Whether the job got over the event; `is_hard` if it ended a process, or broke a node.

        An event `is_weak` if it counts only where a failure is seen.
        If another failure follows, `is_last` is false: other ranks may have gone on for a while,
        unless the job `was_ended` by its scheduler: then only its next start can go on.
        """
        if not is_last:
            goes_on = self.handled or (was_ended and self.restarted)
            return goes_on and self.progress >= ENOUGH - 1
        # A script says that it is done whatever its program did: this alone shows little.
        if self.ended_well and (self.restarted or (is_weak and not is_hard)):
            return True
        if self.handled or self.restarted or self.ended_well:
            return self.progress > 0
        # What a process had printed before may reach the log after its traceback.
        return self.progress >= ENOUGH and not is_hard


class AftermathReader:
    """Collects the aftermath of the last event; each line is given with its shape."""

    def __init__(self) -> None:
        self.found = Aftermath()
        self._kinds: dict[bytes, str] = {}
        self._number = -1  # the highest so far
        self._rest = _FOLLOWED

    def begin(self, *, handled: bool) -> Aftermath:
        """Begin anew, behind an event that may be `handled`. Returns what followed the last one."""
        found, self.found, self._rest = self.found, Aftermath(handled=handled), _FOLLOWED
        return found

    def take(self, shape: bytes, line: bytes) -> bool:
        """Take a line. Returns whether more lines may change what is found."""
        self._rest -= 1
        kind = self._kinds.get(shape)
        if kind is None:
            kind = _kind(line[:_LONGEST])
            if len(self._kinds) < SHAPES:
                self._kinds[shape] = kind
        if kind == "progress":
            self._count(line[:_LONGEST])
        elif kind:
            self._number = -1 if kind == "restarted" else self._number
            self.found = self.found._replace(**{kind: True})
        return self._rest > 0 and self.found.progress < ENOUGH

    def _count(self, line: bytes) -> None:
        found = _compiled("progress").search(line)
        digits = next(filter(None, found.groups()), b"") if found else b""
        number = int(digits[:_DIGITS] or self._number + 1)
        if number > self._number:  # other ranks may still write what they did before
            self._number = number
            self.found = self.found._replace(progress=self.found.progress + 1)


def is_handled(line: bytes) -> bool:
    """Whether a line says what the program did about an error, such as one shown below it."""
    # Of a line that shows several things, this counts first.
    return bool(line.strip()) and bool(_compiled("handled").search(line[:_LONGEST]))


def is_of_course(line: bytes) -> bool:
    """Whether a line shows how the job goes on, or ends well."""
    return bool(_kind(line[:_LONGEST]))


def complains(line: str) -> bool:
    """Whether a line says that something failed, and does not only introduce the next line."""
    return bool(line and re.search(_COMPLAINT, line)) and not re.search(_INTRODUCES, line)


def _kind(line: bytes) -> str:
    """What a line shows: a name of a field of Aftermath; "" if it shows nothing."""
    found = (kind for kind in _patterns() if _compiled(kind).search(line))
    kind = next(found, "nothing")
    return "" if kind == "nothing" else kind


def says_end(text: bytes) -> bool:
    """Whether one of the lines says that the job ended well."""
    return any(_kind(line[:_LONGEST]) == "ended_well" for line in text.split(b"\n"))


@cache
def _compiled(kind: str) -> re.Pattern[bytes]:
    return re.compile("|".join(_patterns()[kind]).encode(), re.IGNORECASE)


@cache
def _patterns() -> dict[str, list[str]]:
    """The patterns of each kind, in the order of the file."""
    with open(_FILE, encoding="utf-8") as stream:
        text = stream.read().partition("\n\n")[2]
    kinds: dict[str, list[str]] = {}
    for heading, pattern in read_patterns(text, {}):
        kinds.setdefault(heading.rstrip(":").replace(" ", "_"), []).append(pattern)
    return kinds
