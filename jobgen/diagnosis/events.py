"""The records of a diagnosis: an event is one line of a log and its meaning; a verdict is a result.

Times are seconds since a year's beginning: most logs have no year, and no job lasts that long.
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

_PID = r"\b(?:pid: |PID )(\d{1,9})\b"
CERTAINTIES = ("sure", "likely", "possible")


class Role(Enum):
    """What a line's event was in the chain of events of a failure."""

    CAUSE = "cause"  # it can have come first, and its time is when that happened
    CONFIRMATION = "confirmation"  # it names a cause, and was written later: its time says nothing
    CONSEQUENCE = "consequence"  # it happens because something else failed before
    TEARDOWN = "teardown"  # somebody ended what was left
    NOISE = "noise"  # harmless, although it looks like a failure


class Event(NamedTuple):
    """One line that a sign matched, or what a file other than a log says (a dump, a stack).

    `node` and `rank` are the ones the event is about; None if the log does not say. `file` is as
    the person named it, and `line` counts from 1 (0: the file has no lines). `says` has its groups
    filled in. `groups` are those of the pattern, for the class's CURE.
    """

    code: str  # of its class, such as host-memory
    role: Role
    says: str = ""
    file: str = ""
    line: int = 0
    text: str = ""
    node: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None  # srun's number: a rank's, or a node's where torchrun starts the ranks
    time: float | None = None
    attempt: int | None = None
    peer: str = ""  # the host or the address that it blames
    peer_rank: int | None = None
    status: int | None = None  # an exit status; a signal is negative
    groups: Mapping[str, str] = {}
    certainty: str = "sure"
    needs_failure: bool = False
    reporter: bool = False  # its rank only reports
    where: str = ""  # of a traceback: the deepest line of the person's own program
    context: int = 0  # a traceback's first line, 0 for others

    @property
    def pid(self) -> str:
        """The number of the process that its line is about, as torchrun writes it; or ""."""
        found = re.search(_PID, self.text)
        return found[1] if found else ""


class Verdict(NamedTuple):
    """What failed first; `code` is None where the log does not tell."""

    code: str | None
    certainty: str = ""
    says: str = ""  # what failed, or, with no code, what is seen
    node: str | None = None
    rank: int | None = None
    one_of: tuple[str, ...] = ()  # "rank 3 on nodeA", where the order of several is not clear
    everywhere: bool = False  # the same on all ranks: it is how the job is set up
    time: float | None = None
    attempt: int | None = None
    evidence: tuple[Event, ...] = ()  # the first is the main one
    chain: tuple[Event, ...] = ()  # all that belongs to the failure, in its order
    cure: str = ""
    misleads: str = ""
    notes: tuple[str, ...] = ()
    node_notes: tuple[str, ...] = ()  # what the kernel and the GPUs of `node` noted
    alike: bool = False  # whether all of `one_of` say the same
