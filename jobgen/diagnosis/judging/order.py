"""Which of two events came first, if that can be told."""

from collections.abc import Sequence

from jobgen.diagnosis.events import Event
from jobgen.diagnosis.signs import CERTAINTIES, Role

CLOCKS = 2.0  # seconds that the clocks of two nodes may differ
BUFFERED = 25  # lines of several processes in one file may be so far out of order


def is_before(a: Event, b: Event) -> bool | None:
    """Whether a came before b; None if it cannot be told."""
    if Role.CONFIRMATION in (a.role, b.role):
        return None
    same_process = (a.rank is not None and a.rank == b.rank) or (
        a.task is not None and a.task == b.task
    )
    if a.file == b.file and same_process and a.line != b.line:
        return a.line < b.line
    if a.time is not None and b.time is not None:
        same_clock = a.node is not None and a.node == b.node
        unsure = 0.0 if same_clock and a.time % 1 and b.time % 1 else CLOCKS
        if abs(a.time - b.time) > unsure:
            return a.time < b.time
    if a.file == b.file and abs(a.line - b.line) > BUFFERED:
        return a.line < b.line
    return None


def first(events: Sequence[Event]) -> Event:
    """The first of a class's events; of confirmations, which have no order, the surest."""
    causes = [event for event in events if event.role is Role.CAUSE]
    if not causes:
        return min(events, key=lambda each: (CERTAINTIES.index(each.certainty), not each.where))
    best = causes[0]
    for event in causes[1:]:
        if is_before(event, best):
            best = event
    return best
