"""Decides which of two events came first, if that is clear, and which class explains another."""

import re
from collections import Counter
from collections.abc import Sequence

from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.classes.index import index
from jobgen.diagnosis.events import CERTAINTIES, Event, Role

CLOCKS = 2.0  # seconds that the clocks of two nodes may differ
BUFFERED = 25  # lines of several processes in one file may be so far out of order
# Operations whose sizes are the same on all ranks.
_ONE_SIZE = frozenset(("ALLREDUCE", "BROADCAST", "REDUCE", "_ALLGATHER_BASE"))
_WATCHDOG_OF_RANK = r"\[Rank (\d+)\] Watchdog caught"
_GROUP = r"\[PG (?:ID )?(\d+)"

Calls = dict[int, tuple[str, Event]]  # what each rank called
Groups = dict[str, list[Event]]


def is_before(a: Event, b: Event) -> bool | None:
    """Whether a came before b; None if their order is unclear."""
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


def by_class(events: list[Event]) -> Groups:
    """The events of each class, in their order."""
    groups: Groups = {}
    for event in events:
        if event.code:
            groups.setdefault(event.code, []).append(event)
    if found := out_of_step(groups.get("collective-timeout", [])):
        groups.setdefault("desync", []).extend(found)
    return groups


def unexplained(groups: Groups) -> Groups:
    """The classes that no other class explains."""
    edges = {(a, b) for a in groups for b in _consequences(a) if b in groups and a != b}
    real = {(a, b) for a, b in edges if _can_explain(groups, a, b, (b, a) in edges)}
    explained = {b for _, b in real}
    useful = {a for a, b in real if any(event.role is Role.CAUSE for event in groups[b])}
    # Classes whose lines also occur in jobs that go well: alone, they explain no other failure.
    hints = {
        code
        for code, events in groups.items()
        if all(event.role is Role.CONFIRMATION and event.needs_failure for event in events)
    }
    rest = {code: each for code, each in groups.items() if code not in explained | (hints - useful)}
    return rest or groups


def _consequences(code: str) -> set[str]:
    """The classes that a class explains, directly or by way of other classes."""
    found: set[str] = set()
    todo = [code]
    while todo:
        new = index().explains[todo.pop()] - found - {code}
        found |= new
        if code in codes_with("scheduler"):  # ranks that it ended cause no timeouts of others
            return found
        todo += new - codes_with("scheduler")
    return found


def _can_explain(groups: Groups, a: str, b: str, mutual: bool) -> bool:
    """Whether events of class a may have caused those of b: not if they clearly came later."""
    if all(event.role is Role.CONSEQUENCE for event in groups[b]):
        return True
    cause, other = first(groups[a]), first(groups[b])
    before = is_before(cause, other)
    is_guess = cause.certainty == "possible" and other.certainty != "possible"
    return before is True if mutual or is_guess else before is not False


def ranked(groups: Groups) -> list[str]:
    """The classes, sorted: the class that failed first comes first."""
    return sorted(groups, key=lambda code: _key(groups, code))


def _key(groups: Groups, code: str) -> tuple[int, int, bool, int]:
    event = first(groups[code])
    others = [first(events) for other, events in groups.items() if other != code]
    earlier = sum(is_before(other, event) is True for other in others)
    weak = max((code in codes_with("scheduler")) * 3, (event.certainty == "possible") * 2)
    weak += code in codes_with("general")
    return earlier, weak, event.role is Role.CONFIRMATION, event.line


# ---- ranks that are out of step ----


def out_of_step(timeouts: list[Event]) -> list[Event]:
    """Events of the class desync, if ranks called different collectives under one number.

    A watchdog's line has a collective's number, its operation and its size. The numbers count the
    collectives of a process group, which the line does not name. So nothing is compared if several
    groups are seen, or if one rank waits in several collectives.
    """
    groups = {found[1] for event in timeouts if (found := re.search(_GROUP, event.text))}
    # Only lines that were neither wrapped nor cut.
    whole = [e for e in timeouts if e.groups.get("sequence") and "Timeout(ms)" in e.text]
    waiting = [e for e in whole if e.groups.get("operation") and _rank(e) >= 0]
    numbers = Counter({(_rank(event), event.groups["sequence"]) for event in waiting})
    if len(groups) > 1 or len({rank for rank, _ in numbers}) < len(numbers):
        return []
    calls: dict[str, Calls] = {}
    for event in waiting:
        number = calls.setdefault(event.groups["sequence"], {})
        operation = event.groups["operation"]
        size = event.groups.get("size") if groups and operation in _ONE_SIZE else ""
        call = f"{operation} of {size} elements" if size else operation
        number.setdefault(_rank(event), (call, event))
    differing = [ranks for ranks in calls.values() if len({call for call, _ in ranks.values()}) > 1]
    return _events(differing[0], "likely" if groups else "possible") if differing else []


def _rank(event: Event) -> int:
    """The rank that a watchdog names; -1 if this is only the number of the rank in its group."""
    found = re.search(_WATCHDOG_OF_RANK, event.text)
    return int(found[1]) if found and event.rank in (None, int(found[1])) else -1


def _events(ranks: Calls, certainty: str) -> list[Event]:
    """An event for the only rank that differs; else events of two ranks, which blame neither."""
    counts = Counter(call for call, _ in ranks.values())
    usual, most = counts.most_common(1)[0]
    one = next(rank for rank, (call, _) in sorted(ranks.items()) if call != usual)
    other = next(rank for rank, (call, _) in sorted(ranks.items()) if call == usual)
    says = f"rank {one} called {ranks[one][0]}, and rank {other} {usual}"
    is_alone = len(ranks) - most == 1 and most > 1
    return [
        ranks[rank][1]._replace(
            code="desync", role=Role.CAUSE, says=says, certainty=certainty,
            rank=rank, reporter=not is_alone,
        )
        for rank in ([one] if is_alone else [one, other])
    ]  # fmt: skip
