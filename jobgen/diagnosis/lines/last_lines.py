"""The last lines of a file: which of them look like a failure, though no class knows them."""

import re
from collections.abc import Iterator

from jobgen.diagnosis.classes import class_of, codes_with
from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.lines.aftermath import AftermathReader, is_handled
from jobgen.diagnosis.lines.labels import Labeller, line_time, plain
from jobgen.diagnosis.lines.matching import compiled, events_of
from jobgen.diagnosis.reader import shape_of
from jobgen.diagnosis.signs import Sign

MOST = 20  # of a file
_LONGEST = 400  # characters of a line
# Of each line that a sign of last lines matches, in lower case.
_WORDS = (
    *(b"err", b"nccl warn", b"fail", b"exception", b"terminat", b"what()", b"assert", b"check"),
    *(b"panic", b"fatal", b"critical", b"qsub", b"cannot", b"can not", b"can't", b"could"),
    *(b"unable", b"no such", b"not ", b"refused", b"denied", b"invalid", b"mismatch", b"exceed"),
    *(b"unsupp", b"undef", b"timed out", b"unreachable", b"unavailable", b"no space", b"no route"),
    *(b"too many", b"busy", b"stale", b"in use"),
)
MOST_AFTER = 2  # lines that a process may write at its end
_LAST_ERROR = "ast error:"  # of NCCL; the next line has it
_NEAR_END = 3  # lines, of which one is a frame where a traceback is cut off
_FRAME = r'^ *File "[^"]+", line \d+, in |^ *frame #\d+: |^ *at [\w./-]+:\d+ '
# Lines of a message: its frame, and what goes on.
_RULE = r"^[-=*~#+]{5,}\s*$"
_GOES_ON = r"^(?:\s|$|frame #|.* NCCL INFO .* -> \d|\^|[)\]}])"


def breaks_off(end: bytes, labeller: Labeller) -> bool:
    """Whether a file ends amid a traceback, or in the frames of a crash."""
    last = [line for line in end.split(b"\n") if line.strip()][-_NEAR_END:]
    texts = [labeller.split(plain(line[:_LONGEST]))[1] for line in last]
    return any(compiled(_FRAME).match(text) for text in texts)


def suspects(name: str, end: bytes, count: int, labeller: Labeller) -> list[Event]:
    """The lines that look like a failure, of the `end` of a file of `count` lines."""
    if not _has_word(end):
        return []
    lines = end.split(b"\n")
    found: list[Event] = []
    ordinary = 0  # lines since the last suspect that are no part of its message
    above, after = "", AftermathReader()
    for number, line in enumerate(lines, count - len(lines) + 1):
        for piece in line[: 10 * _LONGEST].split(b"\r"):
            may_be = _has_word(piece) or above.endswith(_LAST_ERROR)
            event = _suspect(piece, above, labeller) if may_be else None
            if event:
                found.append(event._replace(file=name, line=max(number, 1)))
                after.begin(handled=False)
                ordinary = 0
            elif found:
                after.take(shape_of(piece), piece)
                text = labeller.split(plain(piece[:_LONGEST]))[1]
                goes_on = re.match(_GOES_ON, text)
                ordinary = 0 if re.match(_RULE, text) else ordinary + (not goes_on)
        if after.found.shows_survival(is_last=True, is_hard=False, is_weak=True):
            found.clear()  # the job went on
        if ordinary > MOST_AFTER:
            found = [event._replace(needs_failure=True) for event in found]
        above = plain(line[:_LONGEST])
    return found[:MOST]


def _has_word(text: bytes) -> bool:
    lower = text.lower()
    return any(word in lower for word in _WORDS)


def _suspect(line: bytes, above: str, labeller: Labeller) -> Event | None:
    label, text = labeller.split(plain(line)[:_LONGEST])
    both = f"{text}\n{above}"
    found = (
        event
        for code, sign in _signs()
        for event in events_of(both if r"\n" in sign.pattern else text, [(code, sign)])
    )
    event = next(found, None)
    if event is None or event.role is Role.NOISE or is_handled(line):
        return None
    place = label._replace(time=line_time(text) or label.time)._asdict()
    return event._replace(text=text, **{**place, "attempt": None})


def _signs() -> Iterator[tuple[str, Sign]]:
    """The signs that count only here, with their classes' codes."""
    codes = codes_with("last-resort")
    return ((code, sign) for code in codes for sign in class_of(code).signs)
