"""A sign: a line of a log that shows a class of failure, and its part in the chain of events.

A class's file writes its signs by how sure each is, and by its role:

    SIGNS = (
        *likely.cause("the adapter {device} failed", r"NET/IB : (?P<device>\\w+) failed", r"…"),
        *sure.if_failed.confirmation("the link was down", r"port error"),
        *noise(r"Could not find: libnccl-net"),
    )

If several signs of a class match a line, the first one counts.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

# Parts of patterns, which several classes have.

# The last line of a failed job that jobgen made: a rank, or the launcher of a node, failed first.
FAILED_FIRST = (
    r"^jobgen: (rank (?P<rank>\d+) on |(local rank \d+|launcher) on |node )?(?P<node>[\w.-]+)"
    r" failed first: "
)
# As torchrun's agent logs that a rank failed; else it is a page that quotes it.
AGENT_FAILED = (
    r"(?:(?<!# )\bERROR:torch[\w.]*:|E\d{4} [\d:.]+ \d+ \S*\] |\[ERROR\] |^\s*ERROR\s+)failed "
)
RAISED = r"(?:^|[\])|] )(\w+\.)*\w*(Error|Exception): .*"
# Slurm since 24.11 writes the time in the place of its name; a progress bar may stand before it.
STEPD_ERROR = r"(?:(?<![\"'`])slurmstepd(?:-\S+)?: |^|\[\d{4}-[\dT:.-]+\] )error: \*\*\* "
UNIQUE_ID = r"setting up NCCL communicator and retr\w+ ncclUniqueId from \[(?P<peer_rank>\d+)\]"


class Role(Enum):
    """What a line's event was in the chain of events of a failure."""

    CAUSE = "cause"  # it can have come first, and its time is when that happened
    CONFIRMATION = "confirmation"  # it names a cause, and was written later: its time says nothing
    CONSEQUENCE = "consequence"  # it happens because something else failed before
    TEARDOWN = "teardown"  # somebody ended what was left
    NOISE = "noise"  # harmless, although it looks like a failure


class Sign(NamedTuple):
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

    `reporter`: the line's rank only reports what another one did, or did not do: it is never named,
    as with the watchdog of a collective. With Role.CONSEQUENCE it goes without saying.
    """

    pattern: str
    says: str
    role: Role = Role.CAUSE
    needs_failure: bool = False
    certainty: str = "sure"
    reporter: bool = False


Signs = tuple[Sign, ...]


class Maker(NamedTuple):
    """Makes signs of one certainty from what they say and their patterns."""

    certainty: str
    needs_failure: bool = False

    @property
    def if_failed(self) -> Maker:
        """Makes signs that count only if the log shows elsewhere that the job failed."""
        return self._replace(needs_failure=True)

    def cause(self, says: str, *patterns: str) -> Signs:
        """Lines whose rank failed."""
        return self._signs(Role.CAUSE, says, patterns)

    def report(self, says: str, *patterns: str) -> Signs:
        """Lines on a cause whose rank only reports it."""
        return self._signs(Role.CAUSE, says, patterns, reporter=True)

    def confirmation(self, says: str, *patterns: str, reporter: bool = False) -> Signs:
        """Lines that name a cause, and were written later."""
        return self._signs(Role.CONFIRMATION, says, patterns, reporter)

    def consequence(self, says: str, *patterns: str) -> Signs:
        """Lines on what follows from another failure."""
        return self._signs(Role.CONSEQUENCE, says, patterns)

    def _signs(
        self, role: Role, says: str, patterns: tuple[str, ...], reporter: bool = False
    ) -> Signs:
        return tuple(
            Sign(pattern, says, role, self.needs_failure, self.certainty, reporter)
            for pattern in patterns
        )


sure, likely, possible = Maker("sure"), Maker("likely"), Maker("possible")


def teardown(says: str, *patterns: str) -> Signs:
    """Lines of somebody who ended what was left."""
    return tuple(Sign(pattern, says, Role.TEARDOWN) for pattern in patterns)


def noise(*patterns: str) -> Signs:
    """Harmless lines."""
    return tuple(Sign(pattern, "", Role.NOISE) for pattern in patterns)
