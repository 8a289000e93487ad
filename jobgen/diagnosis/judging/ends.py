"""The ends of processes: which of them failed, and which their launcher ended."""

import re

from jobgen.diagnosis.events import Event
from jobgen.diagnosis.judging.case import CAUSES

# torchrun kills a rank that does not end within 30 s after another rank has failed.
_PATIENCE = 28.0  # seconds; the times in its report have no fractions
_KILLS = r"Unable to shutdown process (\d+) via \S+ forcefully exiting"


def bad_ends(events: list[Event]) -> list[Event]:
    """The exit statuses of processes that failed, and that no launcher ended."""
    return [event for event in events if not event.code and event.status not in (None, 0, -15)]


def without_launchers_kills(events: list[Event]) -> list[Event]:
    """The events without ends of ranks that torchrun killed, if other events show a failure."""
    killed = {found[1] for event in events if (found := re.search(_KILLS, event.text))}
    killed |= _killed_late(events)
    rest = [
        event
        for event in events
        if event.pid not in killed or (event.status != -9 and event.code != "killed")
    ]
    is_told = any(event.code and event.role in CAUSES for event in rest) or bad_ends(rest)
    return rest if is_told else events


def _killed_late(events: list[Event]) -> set[str]:
    """The processes of torchrun's report that ended by SIGKILL so long after another failed."""
    ends = [event for event in bad_ends(events) if "noticed" in event.groups]
    noticed = [(event, float(event.groups["noticed"])) for event in ends]
    failed = min((time for event, time in noticed if event.status != -9), default=None)
    if failed is None:
        return set()
    patience_ends = failed + _PATIENCE
    return {
        event.pid for event, time in noticed if event.status == -9 and time >= patience_ends
    } - {""}
