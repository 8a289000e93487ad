"""Follows Python's tracebacks through the lines of one process, also where several are mixed."""

import re
from typing import NamedTuple

HEAD = re.compile(
    r"^(?P<indent>.*?)(?:\+ Exception Group )?Traceback \(most recent call last\):\s*$"
)
_FRAME = r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)'
_LAST = r"^(?P<type>[A-Za-z_][\w.]*)(?:: ?(?P<message>.*))?$"
# An exception that nobody caught, and that ends nothing.
IGNORED = re.compile(r"^Exception ignored in|^--- Logging error ---|Exception in thread ")
_NEAR = 4  # lines between such a one's announcement and its head; several processes may write
_OF_LOGGING = ("Message", "Arguments")  # the lines that end a logging error: no exceptions
_LIBRARY = r"/(?:site|dist)-packages/|/lib(?:64)?/python\d|^<frozen |^<string>"
_CHAINED = r"During handling of the above exception|The above exception was the direct cause"
PATIENCE = 60  # lines of others, after which a traceback is taken to be cut off

# What ends a launcher when its ranks have failed, or a process that somebody ends: no cause.
_LAUNCHERS_OWN = (
    r"^(?:[\w.]*\.)?(?:ChildFailedError|SignalException|CalledProcessError|ProcessExitedException"
    r"|ProcessRaisedException|KeyboardInterrupt|SystemExit|GeneratorExit|CancelledError)\b"
)
# torch's for any failure of a collective or of the store: by itself it does not say why.
COLLECTIVE = r"^(?:[\w.]*\.)?(?:DistBackendError|DistNetworkError|DistStoreError)\b"


class Traceback:
    """One that has not ended yet."""

    def __init__(self, begin: int, indent: int, is_ignored: bool) -> None:
        self.begin = self.last_seen = begin
        self.indent = indent
        self.is_ignored = is_ignored
        self.where = ""
        self.frames = 0


class Ended(NamedTuple):
    """A traceback with its last line."""

    begin: int
    line: int
    type: str
    text: str
    where: str
    is_ignored: bool

    @property
    def is_launcher_s_own(self) -> bool:
        """Whether it only reports that a process failed; what failed stands elsewhere."""
        of_spawn = self.text.rstrip() == "Exception:"  # of an old torch.multiprocessing
        return of_spawn or bool(re.search(_LAUNCHERS_OWN, self.type))


class Stream:
    """The tracebacks of one stream of lines; interleaved ones without labels are counted."""

    def __init__(self) -> None:
        self.open: list[Traceback] = []
        self.announced = 0  # tracebacks that are to be ignored, and have not begun
        self.ignored_at = -9
        self.ignored_end = -9  # the last line of the last ignored one: another may be chained to it
        self.in_body = False  # the last line was a frame, or the source that a frame shows

    def feed(self, number: int, text: str) -> Ended | None:
        """Take a line; the traceback that it ends, if it ends one."""
        self.in_body = False
        if IGNORED.search(text) or (re.match(_CHAINED, text) and number - self.ignored_end <= 3):
            self.announced = self.announced * self._is_near(number) + 1
            self.ignored_at = number
        if head := HEAD.match(text):
            ignored = self.announced > 0 and self._is_near(number)
            self.announced -= ignored
            self.ignored_at = number if ignored else self.ignored_at
            before = head["indent"]  # in torchrun's report, "  traceback : "
            indent = _blanks(before) if before.strip(" \t|+-") else len(before)
            self.open.append(Traceback(number, indent, ignored))
            return None
        self.open = [each for each in self.open if number - each.last_seen <= PATIENCE]
        return self._body(number, text) if self.open else None

    def _is_near(self, number: int) -> bool:
        return number - self.ignored_at <= _NEAR

    def _body(self, number: int, text: str) -> Ended | None:
        each = self.open[0]
        body = text[_lead(text, each.indent) :]
        if frame := re.match(_FRAME, body):
            each.frames += 1
            each.last_seen = number
            self.in_body = True
            if not re.search(_LIBRARY, frame["file"]):
                each.where = f"{frame['file']}:{frame['line']} in {frame['function']}"
        elif not body.strip() or body[0] in " \t|+":
            self.in_body = each.frames > 0 and number - each.last_seen <= 2
            each.last_seen = number
        elif each.frames and (last := re.match(_LAST, body)) and _is_exception(last["type"]):
            self.open.pop(0)
            self.ignored_end = number if each.is_ignored else self.ignored_end
            return Ended(
                each.begin, number, last["type"], body.strip(), each.where, each.is_ignored
            )
        return None


def _blanks(text: str) -> int:
    return len(text) - len(text.lstrip())


def _lead(text: str, indent: int) -> int:
    """How much of a line's beginning to leave out: what is before `Traceback`, if it is blank."""
    return indent if not text[:indent].strip(" \t|+-") else 0


def _is_exception(name: str) -> bool:
    """Whether a word can be the type of an exception: they begin with a capital letter."""
    last = name.rpartition(".")[2]
    return last[:1].isupper() and len(last) > 3 and name not in _OF_LOGGING
