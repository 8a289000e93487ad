"""Timeouts of one collective that was another one on some rank: the ranks are out of step.

A watchdog's line has a collective's number, its operation and its size. Numbers are counted in each
process group, and the line does not say which group it is. So nothing is compared where several
groups are seen, or one rank waits in several collectives.
"""

import re
from collections import Counter

from jobgen.diagnosis.events import Event
from jobgen.diagnosis.signs import Role

# Their sizes are the same on all ranks.
_ONE_SIZE = frozenset(("ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE"))
_RANK = r"\[Rank (\d+)\] Watchdog caught"
_GROUP = r"\[PG (?:ID )?(\d+)"

Call = tuple[str, str]  # the operation, and its size
Calls = dict[int, tuple[Call, Event]]  # of each rank


def out_of_step(timeouts: list[Event]) -> list[Event]:
    """Events of the class desync, if ranks called different collectives under one number."""
    groups = {found[1] for event in timeouts if (found := re.search(_GROUP, event.text))}
    waiting = [event for event in timeouts if _is_whole(event) and _rank(event) >= 0]
    numbers = Counter({(_rank(event), event.groups["sequence"]) for event in waiting})
    if len(groups) > 1 or len({rank for rank, _ in numbers}) < len(numbers):
        return []
    calls: dict[str, Calls] = {}
    for event in waiting:
        number = calls.setdefault(event.groups["sequence"], {})
        number.setdefault(_rank(event), (_call(event, bool(groups)), event))
    differing = [ranks for ranks in calls.values() if len({call for call, _ in ranks.values()}) > 1]
    return _events(differing[0], "likely" if groups else "possible") if differing else []


def _is_whole(event: Event) -> bool:
    """Whether the watchdog's line was not wrapped, or cut."""
    groups = event.groups
    return bool(groups.get("sequence") and groups.get("operation") and "Timeout(ms)" in event.text)


def _rank(event: Event) -> int:
    """The rank that a watchdog names; -1 if it is not the job's: a group has numbers of its own."""
    found = re.search(_RANK, event.text)
    return int(found[1]) if found and event.rank in (None, int(found[1])) else -1


def _call(event: Event, with_size: bool) -> Call:
    operation = event.groups.get("operation", "")
    has_size = with_size and operation in _ONE_SIZE
    return operation, event.groups.get("size", "") if has_size else ""


def _events(ranks: Calls, certainty: str) -> list[Event]:
    """One for the rank that is alone; else one for each of two that differ, which names neither."""
    counts = Counter(call for call, _ in ranks.values())
    usual, most = counts.most_common(1)[0]
    one = next(rank for rank, (call, _) in sorted(ranks.items()) if call != usual)
    other = next(rank for rank, (call, _) in sorted(ranks.items()) if call == usual)
    says = f"rank {one} called {_words(ranks[one][0])}, and rank {other} {_words(usual)}"
    is_alone = len(ranks) - most == 1 and most > 1
    return [
        ranks[rank][1]._replace(
            code="desync", role=Role.CAUSE, says=says, certainty=certainty,
            rank=rank, reporter=not is_alone,
        )
        for rank in ([one] if is_alone else [one, other])
    ]  # fmt: skip


def _words(call: Call) -> str:
    return f"{call[0]} of {call[1]} elements" if call[1] else call[0]
