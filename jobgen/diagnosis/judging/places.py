"""Which node and rank a class's events name, and whom the other ranks blame.

Ranks blame the peer of a lost connection, or the rank that did not join a collective.
"""

import re
from typing import NamedTuple

from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.events import Event
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.judging.explain import is_before

# Statuses: none is told, ended well, ended by the launcher, by a watchdog's abort.
NEVER_FIRST = (None, 0, -15, -6)
MOST_NAMED = 4
MOST_ABSENT = 4
GAP_SHOWS = 3  # so many ranks that report show by their numbers that one between them does not
FEWEST_REPORTS = 2  # a single one may be all that was printed
_PROGRESS = r"(?:\[PG (?:ID )?(?P<group>\S+) .*)?last enqueued (?:NCCL )?work: (?P<enqueued>\d+)"
# Its own watchdog complains, too, in other words.
_WATCHDOG = r"detected by watchdog at work|operations have failed or timed out|entire process down"
_LOOPBACK = r"127\.|::1$|localhost|0\.0\.0\.0|\[?::ffff:127\."
_PORT = r"<\d+>$|^(?:\[(.*)\]|([^:]*)):\d+$"  # an address of IPv6 has colons of its own
_NUMBER = r"0x[0-9a-f]+|\d+"


class Place(NamedTuple):
    """A node and a rank, either may be unknown; or several of them; or all ranks alike."""

    node: str | None = None
    rank: int | None = None
    one_of: tuple[str, ...] = ()
    everywhere: bool = False
    alike: bool = False  # whether all of `one_of` say the same


def place_of(events: list[Event], case: Case, everything: list[Event]) -> Place:
    """Where a class's events happened; the reports of exit statuses help where no line has it."""
    if events[0].code in codes_with("outside"):
        return Place()
    placed = [event for event in events if event.rank is not None or event.node]
    if not placed and events[0].code not in codes_with("setup"):
        placed = [e for e in everything if not e.code and e.status not in NEVER_FIRST]
    placed = _at_one_node_each(placed)
    places = {(event.node, event.rank): event for event in reversed(placed)}
    if len(places) == 1:
        (node, rank), _ = places.popitem()
        if node and rank is None:  # Slurm's line on memory names the node alone
            ended = {e.rank for e in everything if e.node == node and e.status in (-9, -7, -11)}
            rank = (ended - {None}).pop() if len(ended - {None}) == 1 else None
        return Place(node or case.node_of(rank), rank)
    if not places:
        return Place()
    # One node that some lines name, and one rank that others do, are taken to be the same.
    nodes = {node for node, _ in places if node}
    ranks = {rank for _, rank in places if rank is not None}
    if len(nodes) == len(ranks) == 1:
        return Place(nodes.pop(), ranks.pop())
    return _one_of(list(reversed(places.values())), case)


def _at_one_node_each(events: list[Event]) -> list[Event]:
    """A rank is on one node: the label of its line has the scheduler's name, a report another.

    Without the events that name the node alone, where others name a rank of it, too.
    """
    both = [event for event in events if event.rank is not None and event.node]
    nodes = {event.rank: event.node for event in reversed(both)}
    named = {event.node for event in both}
    exact = [event for event in events if event.rank is not None or event.node not in named]
    return [event._replace(node=nodes.get(event.rank, event.node)) for event in exact]


def _one_of(events: list[Event], case: Case) -> Place:
    """The first of several places, if that is clear; else all of them."""
    nodes = {event.node for event in events}
    node = nodes.pop() if len(nodes) == 1 else None
    ranks = {event.rank for event in events if event.rank is not None}
    world = max(case.world, len(case.ranks))
    times = [event.time for event in events if event.time is not None]
    at_once = max(times, default=0.0) - min(times, default=0.0) < 60  # as far as one sees
    # Whether they say the same, up to numbers.
    alike = len({re.sub(_NUMBER, "", event.says) for event in events}) == 1
    if len(ranks) > 1 and len(ranks) >= world and at_once and alike:
        return Place(everywhere=True)
    for event in events:
        if all(other is event or is_before(event, other) for other in events):
            return Place(event.node, event.rank)
    names = tuple(name_of(event.node, event.rank) for event in events)
    return Place(node, None, names, alike=alike)


def name_of(node: str | None, rank: int | None, local_rank: int | None = None) -> str:
    """`rank 5 on nodeA`, or `local rank 1 on nodeA`, as far as it is known."""
    if rank is None and local_rank is None:
        return node or ""
    name = f"rank {rank}" if rank is not None else f"local rank {local_rank}"
    return name if node is None else f"{name} on {node}"


# ---- whom the other ranks blame ----


def absent_ranks(case: Case, reports: list[Event]) -> Place:
    """The ranks that did not report a timeout, if they are few: the others waited for them."""
    named = {event.peer_rank for event in reports if event.peer_rank is not None}
    named = named or ranks_behind(case.events)
    return place_of_ranks(case, named or silent_ranks(case, reports))


def ranks_behind(events: list[Event]) -> set[int]:
    """The one rank that had put fewer collectives into its group than all others had."""
    groups: dict[str, dict[int, int]] = {}
    for event in events:
        found = re.search(_PROGRESS, event.text)
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
    ranks |= {e.rank for e in case.events if e.rank is not None and re.search(_WATCHDOG, e.text)}
    everybody = case.everybody
    if len(ranks) >= GAP_SHOWS and not everybody - ranks:
        # Unless the log may be cut off among the reports.
        last, files = max(event.line for event in reports), {event.file for event in reports}
        if len(files) > 1 or any(event.line > last for event in case.events):
            everybody = set(range(max(ranks)))
    silent = everybody - ranks
    most = max(1, len(everybody) // 4)
    return silent if len(ranks) >= FEWEST_REPORTS and len(silent) <= most else set()


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
    nodes = [case.node_of(rank) for rank in absent]
    if len(absent) == 1:
        return Place(nodes[0], absent[0])
    same = nodes[0] if len(set(nodes)) == 1 else None
    names = tuple(name_of(node, rank) for node, rank in zip(nodes, absent, strict=True))
    return Place(same, None, names)


def blamed(case: Case, events: list[Event]) -> str | None:
    """The one node that lost connections lead to, and that blames no other itself."""
    edges = [(event.node, _node_of_peer(case, event.peer)) for event in events if event.peer]
    targets = {peer for node, peer in edges if peer and peer != node}
    sources = {node for node, peer in edges if peer and peer != node}
    ends = targets - sources
    return ends.pop() if len(ends) == 1 else None


def _node_of_peer(case: Case, peer: str) -> str | None:
    """The node of an address; an address whose node nobody says stands for itself."""
    plain = re.sub(_PORT, r"\1\2", peer.strip())
    if re.match(_LOOPBACK, plain):
        return None
    return case.addresses.get(plain, plain or None)
