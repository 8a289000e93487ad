"""The records of a diagnosis: an event is one line of a log and its meaning; a verdict is a result.

Times are seconds since a year's beginning: most logs have no year, and no job lasts that long.
"""

import re
from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

_PID = r"\b(?:pid: |PID )(\d{1,9})\b"
SCHEDULER = "scheduler"  # the name of the source that has the scheduler's facts on a job
CERTAINTIES = ("sure", "likely", "possible")


class Role(Enum):
    """The part of an event in the chain of events of a failure."""

    CAUSE = "cause"  # may be the first failure, and has the time of the failure
    CONFIRMATION = "confirmation"  # names a cause, but was written later: its time says nothing
    CONSEQUENCE = "consequence"  # happened because something else had failed before
    TEARDOWN = "teardown"  # somebody ended the processes that were left
    NOISE = "noise"  # harmless, although it looks like a failure


class Event(NamedTuple):
    """One line that a sign matched, or one fact from something other than a log (a dump, a stack).

    `node` and `rank` are what the event is about; None if the log does not say. `file` has the name
    that the user gave, and `line` counts from 1 (0: the file has no lines). `says` is the meaning,
    with groups filled in. `groups` are the groups of the pattern, for the class's CURE.
    """

    code: str  # of the class, such as host-memory
    role: Role
    says: str = ""
    file: str = ""
    line: int = 0
    text: str = ""
    node: str | None = None
    rank: int | None = None
    local_rank: int | None = None
    task: int | None = None  # srun's task number: of a rank, or under torchrun, of a node
    time: float | None = None
    attempt: int | None = None
    peer: str = ""  # the host or the address that the line blames
    peer_rank: int | None = None
    status: int | None = None  # an exit status; a signal is negative
    groups: Mapping[str, str] = {}
    certainty: str = "sure"
    needs_failure: bool = False
    reporter: bool = False  # its rank only reports what another rank did
    quotes: bool = False  # what failed is in the line's own words, which its sign does not know
    unread: str = ""  # the line above, if it complains, too, and no sign knows it
    cures: str = ""  # of the sign, in place of the class's
    send: str = ""  # the same, for the site's administrators
    where: str = ""  # of a traceback: the deepest line of the user's own program
    beside: tuple[str, ...] = ()  # texts that may show what its process was doing (activities)
    context: int = 0  # the number of a traceback's first line; 0 for other events
    survived: bool = False  # what follows it shows that the job went on
    survived_if_last: bool = False  # the same, unless another failure follows

    @property
    def pid(self) -> str:
        """The id of the process that the line is about, as torchrun writes it; or ""."""
        found = re.search(_PID, self.text)
        return found[1] if found else ""


class Verdict(NamedTuple):
    """The result of a diagnosis: what failed first; `code` is None if the log does not show it."""

    code: str | None
    certainty: str = ""
    says: str = ""  # what failed, or, with no code, what is seen
    node: str | None = None
    rank: int | None = None
    one_of: tuple[str, ...] = ()  # "rank 3 on nodeA", …: several places whose order is unclear
    everywhere: bool = False  # the same on all ranks: the cause is how the job is set up
    time: float | None = None
    attempt: int | None = None
    evidence: tuple[Event, ...] = ()  # the main event comes first
    chain: tuple[Event, ...] = ()  # all events of the failure, in their order
    cure: str = ""
    send: str = ""  # what the site's administrators need, if only they can mend it
    misleads: str = ""
    notes: tuple[str, ...] = ()
    node_notes: tuple[str, ...] = ()  # what the kernel and the GPUs of `node` noted
    alike: bool = False  # whether all of `one_of` say the same
    seen_nodes: frozenset[str] = frozenset()  # the nodes that the files name
    local_rank: int | None = None  # of a rank that is not known
    lacks_end: bool = False  # whether no line says that the job ended well
    is_expected: bool = False  # the job ended as it was to end, and nothing failed
