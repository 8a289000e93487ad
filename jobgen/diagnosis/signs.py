"""A sign: a line of a log that shows a class of failure, and its part in the chain of events."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

# The last line of a failed job that jobgen made: a rank, or the launcher of a node, failed first.
FAILED_FIRST = (
    r"^jobgen: (rank (?P<rank>\d+) on |(local rank \d+|launcher) on |node )?(?P<node>[\w.-]+)"
    r" failed first: "
)


class Role(Enum):
    """What a line's event was in the chain of events of a failure."""

    CAUSE = "cause"  # it can have come first, and its time is when that happened
    CONFIRMATION = "confirmation"  # it names a cause, and was written later: its time says nothing
    CONSEQUENCE = "consequence"  # it happens because something else failed before
    TEARDOWN = "teardown"  # somebody ended what was left
    NOISE = "noise"  # harmless, although it looks like a failure


@dataclass(frozen=True)
class Sign:
    """A pattern for one line, without its label (node, rank) and without escapes.

    `pattern` is searched for in the line by `re.search`. These named groups are taken over, and
    win over the label of the line: `rank`, `node` (a host's name), `peer` (the host or address
    that the line blames), `peer_rank`, `local_rank`, `task` (srun's number), `status` (an exit
    status). Other groups may be used in `says` and in the class's CURE.

    `says` is what failed, in a few words, with the groups in braces: it follows "rank 5 on nodeA
    failed first: ". A group that did not take part makes the empty string.

    `needs_failure`: the line counts only if the log shows elsewhere that the job failed (an exit
    status, a traceback at its end, a signal, an error of the scheduler).

    `certainty`: how sure the class is if this is all that there is: "sure", "likely" or "possible".
    """

    pattern: str
    says: str
    role: Role = Role.CAUSE
    needs_failure: bool = False
    certainty: str = "sure"

    # The line's rank only reports what another one did, or did not do: it is never named, as with
    # the watchdog of a collective. With Role.CONSEQUENCE it goes without saying.
    reporter: bool = False
