"""Which node and rank a class's events name."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from jobgen.diagnosis.events import Event
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.judging.explain import SCHEDULERS_OWN
from jobgen.diagnosis.judging.order import is_before

NEVER_FIRST = (0, -15, -6)  # statuses: ended well, ended by the launcher, by a watchdog's abort
MOST_NAMED = 4
# A rank that ended with an error is not named for these: the others would have ended so, too.
CONFIGURATION = frozenset(
    "wrong-interface rendezvous versions-differ duplicate-gpu host-name desync pbs-killed"
    " batch-script srun-step".split()
)
# The node of the line only wrote it; in the lines of PBS it is the one that PBS means.
FROM_OUTSIDE = SCHEDULERS_OWN - {"pbs-killed"}
_NUMBER = re.compile(r"0x[0-9a-f]+|\d+")


@dataclass(frozen=True)
class Place:
    """A node and a rank, either may be unknown; or several of them; or all ranks alike."""

    node: str | None = None
    rank: int | None = None
    one_of: tuple[str, ...] = ()
    everywhere: bool = False
    alike: bool = False  # whether all of `one_of` say the same


def place_of(events: list[Event], case: Case, everything: list[Event]) -> Place:
    """Where a class's events happened; the reports of exit statuses help where no line has it."""
    if events[0].code in FROM_OUTSIDE:
        return Place()
    placed = [event for event in events if event.rank is not None or event.node]
    if not placed and events[0].code not in CONFIGURATION:
        placed = [e for e in everything if not e.code and _failed(e)]
    placed = _one_node_each(_more_exact(placed))
    places = {(event.node, event.rank): event for event in reversed(placed)}
    if len(places) == 1:
        (node, rank), _ = places.popitem()
        rank = _ended_by_signal(node, everything) if rank is None else rank
        return Place(node or _node_of(rank, case), rank)
    if not places:
        return Place()
    if joined := _joined(set(places)):
        return joined
    return _one_of(list(reversed(places.values())), case)


def _ended_by_signal(node: str | None, events: list[Event]) -> int | None:
    """The one rank of a node that a signal ended: Slurm's line on memory names the node alone."""
    ended = {e.rank for e in events if e.node == node and e.status in (-9, -7, -11)} - {None}
    return ended.pop() if node and len(ended) == 1 else None


def _failed(event: Event) -> bool:
    return event.status is not None and event.status not in NEVER_FIRST


def _one_node_each(events: list[Event]) -> list[Event]:
    """A rank is on one node: the label of its line has the scheduler's name, a report another."""
    nodes: dict[int, str] = {}
    for event in events:
        if event.rank is not None and event.node:
            nodes.setdefault(event.rank, event.node)
    return [replace(e, node=nodes.get(e.rank)) if e.rank in nodes else e for e in events]


def _more_exact(events: list[Event]) -> list[Event]:
    """Without those that name only the node, or no node, of others that name both."""
    nodes = {event.node for event in events if event.rank is not None and event.node}
    ranks = {event.rank for event in events if event.rank is not None and event.node}
    return [
        event
        for event in events
        if (event.rank is not None or event.node not in nodes)
        and (event.node or event.rank not in ranks)
    ]


def _joined(places: set[tuple[str | None, int | None]]) -> Place | None:
    """One node that some lines name, and one rank that others do, are taken to be the same."""
    nodes = {node for node, _ in places if node}
    ranks = {rank for _, rank in places if rank is not None}
    return Place(nodes.pop(), ranks.pop()) if len(nodes) == len(ranks) == 1 else None


def _one_of(events: list[Event], case: Case) -> Place:
    """The first of several places, if that is clear; else all of them."""
    nodes = {event.node for event in events}
    node = nodes.pop() if len(nodes) == 1 else None
    ranks = {event.rank for event in events if event.rank is not None}
    world = max(case.world, len(case.ranks))
    if len(ranks) > 1 and len(ranks) >= world and _together(events) and _alike(events):
        return Place(everywhere=True)
    for event in events:
        if all(other is event or is_before(event, other) for other in events):
            return Place(event.node, event.rank)
    names = tuple(name_of(event.node, event.rank) for event in events)
    return Place(node, None, names, alike=_alike(events))


def _together(events: list[Event]) -> bool:
    """Whether it happened at about the same time, as far as one sees."""
    times = [event.time for event in events if event.time is not None]
    return len(times) < 2 or max(times) - min(times) < 60


def _alike(events: list[Event]) -> bool:
    """Whether they say the same, up to numbers."""
    return len({_NUMBER.sub("", event.says) for event in events}) == 1


def _node_of(rank: int | None, case: Case) -> str | None:
    return case.rank_nodes.get(rank) if rank is not None else None


def name_of(node: str | None, rank: int | None) -> str:
    """`rank 5 on nodeA`, as far as it is known."""
    words = [f"rank {rank}"] * (rank is not None) + [f"on {node}"] * (node is not None)
    return " ".join(words) if rank is not None else (node or "")
