"""Reports of many lines: Python's tracebacks, also where several are mixed, and torchrun's report.

A report of torchrun is about the ranks of one agent: N nodes have N reports, and each names a root
cause. A report says which of the agent's ranks failed, and with which status.
"""

import re

from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.lines.aftermath import is_of_course
from jobgen.diagnosis.lines.labels import Label, line_time
from jobgen.diagnosis.lines.matching import compiled

BEGIN = re.compile(r"Root Cause \(first observed failure\):|^\s*(?:Other )?Failures:\s*$")
LINES_FOLLOWED = 40  # an entry has seven lines, and a message may have many
_ENTRY = r"^\s*\[\d+\]:\s*$"
_RULE = r"^\s*[=*-]{20,}\s*$"
_FIELD = re.compile(r"\s*(?:time|host|rank|exitcode|error_file|traceback)\s*: ")
_TIME = r"\s*time\s*: +\d"
_HOST = r"\s*host\s*: +(?!localhost\s*$)(?P<name>\S.*?)\s*$"
_RANK = r"\s*rank\s*: +(?P<rank>\d+) \(local_rank: (?P<local>\d+)\)"


class FinalReport:
    """The place of a stream of lines in a report: the node and rank of the current entry."""

    def __init__(self) -> None:
        self.label = Label()
        self.noticed: float | None = None  # when the agent noticed the failure of the current entry
        self._is_root = False
        self._left = 0  # how many more lines may belong to the report

    def feed(self, text: str) -> bool:
        """Take a line. Returns whether the line belongs to a report."""
        begins = BEGIN.search(text)
        if not begins and not self._left:
            return False
        if begins or _FIELD.match(text):
            self._left = LINES_FOLLOWED + 1
        if begins or re.match(_ENTRY, text):
            self.label, self.noticed = Label(), None
        if begins:
            self._is_root = "Root Cause" in text
        elif re.match(_TIME, text):
            self.noticed = line_time(text)
        elif host := re.match(_HOST, text):
            self.label = Label(host["name"])
        elif rank := re.match(_RANK, text):
            self.label = Label(self.label.node, int(rank["rank"]), int(rank["local"]))
        is_over = re.match(_RULE, text) and self._is_root and self.label.rank is not None
        self._left = 0 if is_over else self._left - 1
        if not self._left:
            self.label, self.noticed = Label(), None
        return self._left > 0


HEAD = re.compile(
    r"^(?P<indent>.*?)(?:\+ Exception Group )?Traceback \(most recent call last\):\s*$"
)
# The line of an error in a program's syntax is in no function.
_FRAME = r'^\s*File "(?P<file>[^"]+)", line (?P<line>\d+)(?:, in (?P<function>\S+)|\s*$)'
# Of the program that is started, such an error has no head.
_OF_SYNTAX = r'^\s*File "[^"]+", line \d+\s*$'
_SYNTAX_ERRORS = ("SyntaxError", "IndentationError", "TabError")
_MESSAGE = r'^\s+[^\s^~](?!ile ")'  # in a line of its own, and no frame
# Without an indent: several words, and no label or name of a program before them.
_PLAIN_MESSAGE = r"^[A-Za-z`'\"](?!\S*:(?:\s|$))\S* \S"
_NO_MESSAGE = (
    r'^(?:File "|Killed|Aborted|Terminated|Segmentation fault|Bus error|Fatal Python|Root Cause'
    r"|terminate called|(?:INFO|DEBUG|WARN|WARNING|ERROR|CRITICAL|FATAL)\b|[EWIF]\d{4} )"
)
_LAST = r"^(?P<type>[A-Za-z_][\w.]*)(?:: ?(?P<message>.*))?$"
# An exception that nobody caught, and that ends nothing.
IGNORED = re.compile(r"^Exception ignored in|^--- Logging error ---|Exception in thread ")
_NEAR = 4  # lines between the announcement and the head of such an exception
_OF_LOGGING = ("Message", "Arguments")  # the lines that end a logging error: no exceptions
_LIBRARY = r"/(?:site|dist)-packages/|/lib(?:64)?/python\d|^<frozen |^<string>"
_CHAINED = r"During handling of the above exception|The above exception was the direct cause"
MOST_TEXT = 400  # characters of a line
_UNKNOWN = -1  # indent: the first frame shows it
# What ends the thread that feeds a queue of multiprocessing, and no process.
_FEEDER = r".*\bmultiprocessing/queues\.py$"
_NO_READER = r"^(?:BrokenPipeError|ConnectionResetError)\b"
_ASIDE = "a thread wrote to a queue whose reader had gone (of a DataLoader, or of the program)"
_BLANK = " \t|+-"  # also the frame of a group of exceptions
_MARKS = " \t^~"  # below a line of source
PATIENCE = 60  # lines of other processes, after which a traceback counts as cut off

# Exceptions that end a launcher whose ranks failed, or a process that somebody ended: no cause.
_LAUNCHERS_OWN = (
    r"^(?:[\w.]*\.)?(?:ChildFailedError|SignalException|CalledProcessError|ProcessExitedException"
    r"|ProcessRaisedException|KeyboardInterrupt|SystemExit|GeneratorExit|CancelledError)\b"
)
# Of an old torch.multiprocessing.
_OLD_SPAWN = r"^Exception:\s*(?:$|process \d+ terminated with exit code)"
# torch's exceptions for any failure of a collective or of the store; they do not say why.
_COLLECTIVE = r"^(?:[\w.]*\.)?(?:DistBackendError|DistNetworkError|DistStoreError)\b"


def begins_traceback(text: str) -> bool:
    """Whether a line begins a traceback, or announces one that is to be ignored."""
    return bool(HEAD.match(text) or IGNORED.search(text) or re.match(_OF_SYNTAX, text))


class Traceback:
    """A traceback; when it has ended, `type` and `text` come from its last line."""

    def __init__(self, begin: int, indent: int, is_ignored: bool, *, has_head: bool = True) -> None:
        self.begin = self.last_seen = begin
        self.indent = indent
        self.is_ignored = is_ignored
        self.has_head = has_head
        self.frames = 0
        self.is_feeder_s = False
        self.aside = ""  # what it says, if it ended no process
        self.where = self.type = self.text = ""
        self.source = ""  # the innermost line of source that it shows
        self.message = ""  # if it has a line of its own

    @property
    def is_launcher_s_own(self) -> bool:
        """Whether the exception only reports that a process failed; the cause stands elsewhere."""
        of_spawn = re.match(_OLD_SPAWN, self.text)
        return bool(of_spawn) or bool(re.search(_LAUNCHERS_OWN, self.type))

    def event(self) -> Event:
        """The event of the last line, if this line is no sign of a class."""
        if self.is_launcher_s_own:
            return Event("", Role.TEARDOWN, "a launcher ended", status=1)
        if re.search(_COLLECTIVE, self.type):
            says = "a collective failed, or the store that the ranks meet at"
            return Event("peer-lost", Role.CONSEQUENCE, says, reporter=True)
        event = Event("python-exception", Role.CAUSE, self.text[:MOST_TEXT])
        return event._replace(where=self.where, context=self.begin)


# An exception that stands without a traceback, as a library logs it.
_BARE = (
    r"^(?:(?:\w+ )?(?:ERROR|CRITICAL|FATAL)\b[^A-Za-z]*(?:[A-Za-z]\w*:\s*)?)?"
    r"(?P<type>(?:[A-Za-z_]\w*\.)*[A-Z]\w+(?:Error|Exception)): \S"
)


def may_be_bare(shape: bytes) -> bool:
    """Whether a line of this shape may name an exception."""
    return b"error: " in shape or b"exception: " in shape


def bare_exception(text: str) -> Event | None:
    """The event of an exception that a line names, without a traceback above it."""
    found = compiled(_BARE).match(text)
    if not found:
        return None
    ended = Traceback(0, 0, False)
    ended.type, ended.text = found["type"], text[found.start("type") :].strip()
    event = ended.event()
    return event._replace(certainty="possible", needs_failure=True) if event.code else None


class Stream:
    """The tracebacks of one stream of lines; several without labels may be interleaved."""

    def __init__(self, *, is_one_process: bool) -> None:
        self._is_one_process = is_one_process
        self._label = 0  # the letters of the last line's label
        self.open: list[Traceback] = []
        self.announced_at = -9  # the line that announces a traceback to be ignored
        self.ignored_end = -9  # the last line of the last ignored traceback: another may be chained
        self.in_body = False  # the last line was a frame, or the source that a frame shows
        self._lacks_message: Traceback | None = None  # it ended in the last line

    def feed(self, number: int, text: str, label: int) -> Traceback | None:
        """Take a line, whose label had so many letters. Returns the traceback that it ends."""
        self.in_body = False
        each, self._lacks_message = self._lacks_message, None
        same, self._label = label == self._label, label  # that of a logger has a time
        is_plain = each and same and self._is_plain_message(each, number, text)
        if each and (is_plain or re.match(_MESSAGE, text)):
            each.message = text.strip()
            each.text += f" {each.message}"
            return each
        if IGNORED.search(text) or (re.match(_CHAINED, text) and number - self.ignored_end <= 3):
            self.announced_at = number
        if head := HEAD.match(text):
            ignored = number - self.announced_at <= _NEAR
            before = head["indent"]  # in torchrun's report, "  traceback : "
            indent = len(before)
            if before[-1:].strip(_BLANK):  # a line of another process goes on in this one
                indent = 0
            elif before.strip(_BLANK):
                indent = _UNKNOWN
            self.open = [each for each in self.open if each.has_head]
            self.open.append(Traceback(number, indent, ignored))
            return None
        self.open = [each for each in self.open if number - each.last_seen <= PATIENCE]
        if not self.open and re.match(_OF_SYNTAX, text):
            self.open.append(Traceback(number, 0, False, has_head=False))
        return self._body(number, text) if self.open else None

    def _is_plain_message(self, each: Traceback, number: int, text: str) -> bool:
        """Whether a line without an indent is the message of an exception.

        Python writes the colon behind a type only where a message follows. But if lines have no
        labels, the next line may be of another process.
        """
        if number - each.last_seen > (PATIENCE if self._is_one_process else 1):
            return False
        others = (_NO_MESSAGE, _CHAINED, HEAD, IGNORED)
        return bool(re.match(_PLAIN_MESSAGE, text)) and not (
            any(re.search(other, text) for other in others) or is_of_course(text.encode())
        )

    def _body(self, number: int, text: str) -> Traceback | None:
        each = self.open[0]
        if (
            each.indent == _UNKNOWN
        ):  # a page can have removed some of it from all lines but the head
            frame = re.match(_FRAME, text)
            each.indent = max(0, len(text) - len(text.lstrip()) - 2) if frame else _UNKNOWN
        # The line without the part before `Traceback`, if this part is blank here.
        body = text if text[: each.indent].strip(_BLANK) else text[each.indent :]
        if frame := re.match(_FRAME, body):
            if not each.frames and frame["function"] == "_feed":
                each.is_feeder_s = bool(re.match(_FEEDER, frame["file"]))
            each.frames += 1
            each.last_seen = number
            self.in_body = True
            if not re.search(_LIBRARY, frame["file"]):
                function = f" in {frame['function']}" if frame["function"] else ""
                each.where = f"{frame['file']}:{frame['line']}{function}"
        elif not body.strip() or body[0] in " \t|+":
            self.in_body = each.frames > 0 and number - each.last_seen <= 2
            each.last_seen = number
            if self.in_body and body.strip(_MARKS):
                each.source = body.strip()
        elif each.frames and (last := re.match(_LAST, body)) and _is_exception(last["type"]):
            self.open.pop(0)
            if each.is_feeder_s and re.match(_NO_READER, body):
                each.is_ignored, each.aside = True, _ASIDE
            self.ignored_end = number if each.is_ignored else self.ignored_end
            each.type, each.text, each.last_seen = last["type"], body.strip(), number
            # Another process may have written that source into this line.
            merged = rf": {{4,}}{re.escape(each.source)}\s*"
            each.text = re.sub(merged, ": ", each.text, count=1)
            self._lacks_message = each if last["message"] == "" else None
            return each if each.has_head or each.type in _SYNTAX_ERRORS else None
        return None


def _is_exception(name: str) -> bool:
    """Whether a word can be the type of an exception: these begin with a capital letter."""
    last = name.rpartition(".")[2]
    return last[:1].isupper() and len(last) > 3 and name not in _OF_LOGGING
