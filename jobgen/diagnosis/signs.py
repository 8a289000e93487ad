r"""A sign: a line of a log that shows a class of failure, and its part in the chain of events.

The text of a class has its signs: the meaning of lines, and below it the patterns of such lines.

    DEVICE = (?P<device>\w+)
    likely cause: the adapter {device} failed
        NET/IB : <DEVICE> failed
    sure confirmation if failed: the link was down
            Cure: what to do about it, in place of the class's cure
            Send: what the site's administrators need, in place of what the class says
        # A comment.
        port error of a pattern that
            goes on in this line
    noise:
        Could not find: libnccl-net

Before the colon are how sure the class is without other signs (sure, likely or possible), the
line's role (a name of Role, `report` or `late report`), and `if failed` where the line counts only
if the log shows elsewhere that the job failed: an exit status, a traceback at its end, a signal, an
error of the scheduler. After the colon is what failed, as a text that follows "rank 5 on nodeA
failed first: "; and a cure, where the class's is not the best, and `Send:` behind it.

A text with {reason} or {why} only quotes the line: such a sign knows the area, and not the cause,
so it is never sure (jobgen/diagnosis/judging/verdict.py). Words that a sign knows are {what}.

A pattern with \n is for two lines: behind \n is the line above, or what a traceback shows there.

A name in capitals stands for a part of patterns; PARTS has the parts that several classes use. A
blank at a line's end is written [ ]. If several signs of a class match a line, the first counts.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from jobgen.diagnosis.events import CERTAINTIES, Event, Role
from jobgen.explanation import read_patterns

ABOVE = re.compile(r"(?<!\\)\\n")  # in a pattern, between a line and the line above it
PARTS = {
    # The last line of a failed job that jobgen made: a rank, or a node's launcher, failed first.
    "FAILED_FIRST": r"^jobgen: (rank (?P<rank>\d+) on |(local rank \d+|launcher) on |node )?"
    r"(?P<node>[\w.-]+) failed first: ",
    # How torchrun's agent logs that a rank failed; in other forms, a page quotes such a line.
    "AGENT_FAILED": r"(?:(?<!# )\bERROR:torch[\w.]*:|E\d{4} [\d:.]+ \d+ \S*\] |\[ERROR\] "
    r"|^\s*ERROR\s+)failed ",
    "RAISED": r"(?:^|[\])|] )(\w+\.)*\w*(Error|Exception): .*",
    # Slurm since 24.11 writes the time in place of slurmstepd; a progress bar may be before it.
    "STEPD_ERROR": r"""(?:(?<!["'`])slurmstepd(?:-\S+)?: |^|\[\d{4}-[\dT:.-]+\] )error: \*\*\* """,
    "UNIQUE_ID": r"setting up NCCL communicator and retr\w+ ncclUniqueId from"
    r" \[(?P<peer_rank>\d+)\]",
    # Xids that mean broken hardware.
    "BROKEN": r"48|61|62|63|64|74|79|92|94|95|110|119|120|121|136|140|14[3-9]|150",
}


# By name, the role, and whether the rank only reports on another rank: then it is never blamed.
_ROLES = {
    "report": (Role.CAUSE, True),
    "late report": (Role.CONFIRMATION, True),
    **{role.value: (role, role is Role.CONSEQUENCE) for role in Role},
}
_KIND = rf"(?:({'|'.join(CERTAINTIES)}) )?({'|'.join(_ROLES)})( if failed)?:(.*)"


class Sign(NamedTuple):
    """A pattern for one line without its label (node, rank) and without escapes, and its event.

    `pattern` is searched for in the line by `re.search`. These named groups set event fields, and
    override the label of the line: `rank`, `node` (a host's name), `peer` (the host or address
    that the line blames), `peer_rank`, `local_rank`, `task` (srun's number), `status` (an exit
    status). With groups `fewer` and `more`, the sign counts only where these numbers are so. Other
    groups may be used in the event's text and in the class's cure; a group that did not take part
    in the match is empty there.
    """

    pattern: str
    meaning: str  # a line such as `sure cause if failed: what failed`

    @property
    def event(self) -> Event:
        """The event of a line that matches. Raises ValueError if the meaning is none."""
        return _event(self.meaning)


def read_signs(text: str) -> Iterator[Sign]:
    """The signs in a class's text."""
    for line, pattern in read_patterns(text, PARTS):
        yield Sign(pattern, line)


@cache
def _event(line: str) -> Event:
    """The event of the signs below a line such as `sure cause if failed: what failed`."""
    found = re.fullmatch(_KIND, line)
    if not found:
        raise ValueError(f"no kind of sign: {line}")
    certainty, name, condition, text = found.groups("")
    says, _, cures = text.partition(" Cure: ")
    cures, _, send = cures.partition(" Send: ")
    role, reporter = _ROLES[name]
    event = Event("", role, says.strip(), certainty=certainty or "sure", reporter=reporter)
    quotes = "{reason}" in says or "{why}" in says
    return event._replace(needs_failure=bool(condition), cures=cures, send=send, quotes=quotes)
