"""Whom the other ranks blame: the peer of a lost connection, the rank that did not join."""

from __future__ import annotations

import re

from jobgen.diagnosis.events import Event
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.judging.places import Place, name_of

MOST_ABSENT = 4
GAP_SHOWS = 3  # so many ranks that report show by their numbers that one between them does not
FEWEST_REPORTS = 2  # a single one may be all that was printed
# In other classes, those that report nothing are not for that the ones that failed.
WAITED_FOR = frozenset(("collective-timeout", "silent-hang"))
_PROGRESS = re.compile(
    r"(?:\[PG (?:ID )?(?P<group>\S+) .*)?last enqueued (?:NCCL )?work: (?P<enqueued>\d+)"
)
# Its own watchdog complains, too, in other words.
_WATCHDOG = re.compile(
    r"detected by watchdog at work|operations have failed or timed out|entire process down"
)
_LOOPBACK = re.compile(r"127\.|::1$|localhost|0\.0\.0\.0|\[?::ffff:127\.")
_PORT = re.compile(r"(?:<\d+>|:\d+)$")


def absent_ranks(case: Case, reports: list[Event]) -> Place:
    """The ranks that did not report a timeout, if they are few: the others waited for them."""
    named = {event.peer_rank for event in reports if event.peer_rank is not None}
    named = named or ranks_behind(case.events)
    return place_of_ranks(case, named or silent_ranks(case, reports))


def ranks_behind(events: list[Event]) -> set[int]:
    """The one rank that had put fewer collectives into its group than all others had."""
    groups: dict[str, dict[int, int]] = {}
    for event in events:
        found = _PROGRESS.search(event.text)
        if found and event.rank is not None:
            group = groups.setdefault(found["group"] or "", {})
            group.setdefault(event.rank, int(found["enqueued"]))
    largest = max(groups.values(), key=len, default={})
    lowest = min(largest.values(), default=0)
    behind = {rank for rank, enqueued in largest.items() if enqueued == lowest}
    return behind if len(largest) >= GAP_SHOWS and len(behind) == 1 else set()


def silent_ranks(case: Case, reports: list[Event]) -> set[int]:
    """The ranks that do not complain where nearly all others do."""
    ranks = {event.rank for event in reports if event.rank is not None}
    ranks |= {e.rank for e in case.events if e.rank is not None and _WATCHDOG.search(e.text)}
    everybody = case.everybody
    if len(ranks) >= GAP_SHOWS and not everybody - ranks and _goes_on(case, reports):
        everybody = set(range(max(ranks)))
    silent = everybody - ranks
    most = max(1, len(everybody) // 4)
    return silent if len(ranks) >= FEWEST_REPORTS and len(silent) <= most else set()


def _goes_on(case: Case, reports: list[Event]) -> bool:
    """Whether something comes after the last report: else the log may be cut off among them."""
    last = max(event.line for event in reports)
    return any(event.line > last for event in case.events) or len({e.file for e in reports}) > 1


def node_cut_off(case: Case, reports: list[Event]) -> Place | None:
    """The one node that cannot reach the head, of several that are seen: the others can."""
    nodes = {event.node for event in reports if event.code == "rendezvous"}
    node = nodes.pop() if len(nodes) == 1 else None
    is_alone = node and set(case.addresses.values()) > {node}
    return Place(node) if is_alone and all(event.rank is None for event in reports) else None


def place_of_ranks(case: Case, ranks: set[int]) -> Place:
    """The place of one rank, or of one of a few."""
    absent = sorted(ranks)
    if not 0 < len(absent) <= MOST_ABSENT:
        return Place()
    nodes = [case.rank_nodes.get(rank) for rank in absent]
    if len(absent) == 1:
        return Place(nodes[0], absent[0])
    same = nodes[0] if len(set(nodes)) == 1 else None
    names = tuple(name_of(node, rank) for node, rank in zip(nodes, absent, strict=True))
    return Place(same, None, names)


def blamed(case: Case, events: list[Event]) -> str | None:
    """The one node that lost connections lead to, and that blames no other itself."""
    edges = [(event.node, _node(case, event.peer)) for event in events if event.peer]
    targets = {peer for node, peer in edges if peer and peer != node}
    sources = {node for node, peer in edges if peer and peer != node}
    ends = targets - sources
    return ends.pop() if len(ends) == 1 else None


def _node(case: Case, peer: str) -> str | None:
    """The node of an address; an address whose node nobody says stands for itself."""
    plain = _PORT.sub("", peer.strip())
    if _LOOPBACK.match(plain):
        return None
    return case.addresses.get(plain, plain or None)
