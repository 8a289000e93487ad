"""Finds which node and rank a class's events name, and which of them the other ranks blame.

Ranks blame the peer of a lost connection, or the rank that did not join a collective.
"""

import re
from typing import NamedTuple

from jobgen.diagnosis.classes import codes_with
from jobgen.diagnosis.events import Event
from jobgen.diagnosis.judging.case import Case
from jobgen.diagnosis.judging.explain import is_before

# Statuses: unknown, ended well, ended by the launcher, aborted by a watchdog.
NEVER_FIRST = (None, 0, -15, -6)
MOST_NAMED = 4
MOST_ABSENT = 4
GAP_SHOWS = 3  # if so many ranks report, a gap in their numbers shows a silent rank
FEWEST_REPORTS = 2  # a single report may be all that was printed
_PROGRESS = r"(?:\[PG (?:ID )?(?P<group>\S+) .*)?last enqueued (?:NCCL )?work: (?P<enqueued>\d+)"
# The number of the collective in which a rank waits, and its group where the line has it.
_WAITS = r"(?:\[PG (?:ID )?(?P<group>\S+) .*)?Watchdog caught .*\bSeqNum=(?P<enqueued>\d+)"
_NEXT = 1  # the others may be one collective further
# The words in which a rank's own watchdog complains.
_WATCHDOG = (
    r"Watchdog caught collective|detected by watchdog at work|operations have failed or timed out"
    r"|entire process down"
)
_LOOPBACK = r"127\.|::1$|localhost|0\.0\.0\.0|\[?::ffff:127\."
_PORT = r"<\d+>$|^(?:\[(.*)\]|([^:]*)):\d+$"  # an IPv6 address itself has colons
_NUMBER = r"0x[0-9a-f]+|\d+"


class Place(NamedTuple):
    """A node and a rank, each of which may be unknown; or several places; or all ranks alike."""

    node: str | None = None
    rank: int | None = None
    one_of: tuple[str, ...] = ()
    everywhere: bool = False
    alike: bool = False  # whether all of `one_of` say the same
    local_rank: int | None = None  # of a rank that is not known


def place_of(events: list[Event], case: Case, everything: list[Event]) -> Place:
    """Where a class's events happened; if their lines do not say, where processes ended badly."""
    if events[0].code in codes_with("outside"):
        return Place()
    placed = [event for event in events if _is_placed(event)]
    if not placed and events[0].code not in codes_with("setup"):
        placed = [e for e in everything if not e.code and e.status not in NEVER_FIRST]
    placed = _at_one_node_each(placed)
    places = {(event.node, event.rank, _local_rank(event)): event for event in reversed(placed)}
    if len(places) == 1:
        (node, rank, local_rank), _ = places.popitem()
        if node and rank is local_rank is None:  # Slurm's line on memory names only the node
            ended = {e.rank for e in everything if e.node == node and e.status in (-9, -7, -11)}
            rank = (ended - {None}).pop() if len(ended - {None}) == 1 else None
        if node is None and local_rank is not None:  # the launcher's end names the node
            launchers = [e for e in everything if not e.code and e.status not in NEVER_FIRST]
            nodes = {each.node for each in launchers if each.node}
            node = nodes.pop() if len(nodes) == 1 else None
        return Place(node or case.node_of(rank), rank, local_rank=local_rank)
    if not places:
        return Place()
    # If some lines name one node, and other lines one rank, the rank is taken to be on the node.
    nodes = {node for node, *_ in places if node}
    ranks = {(rank, local) for _, rank, local in places} - {(None, None)}
    if len(nodes) == len(ranks) == 1:
        rank, local_rank = ranks.pop()
        return Place(nodes.pop(), rank, local_rank=local_rank)
    return _one_of(list(reversed(places.values())), case)


def _is_placed(event: Event) -> bool:
    return bool(event.node) or (event.rank, event.local_rank) != (None, None)


def _local_rank(event: Event) -> int | None:
    """The local rank of a rank that is not known."""
    return event.local_rank if event.rank is None else None


def _at_one_node_each(events: list[Event]) -> list[Event]:
    """The events, with one node for each rank: a label and a report may have different node names.

    Events that name only a node are left out if other events name a rank of that node; and local
    ranks on no node, if other events name any rank.
    """
    if any(event.rank is not None for event in events):
        events = [event for event in events if event.rank is not None or event.node]
    both = [event for event in events if event.rank is not None and event.node]
    nodes = {event.rank: event.node for event in reversed(both)}
    named = {event.node for event in both}
    exact = [event for event in events if event.rank is not None or event.node not in named]
    return [event._replace(node=nodes.get(event.rank, event.node)) for event in exact]


def _one_of(events: list[Event], case: Case) -> Place:
    """The first of several places, if their order is clear; else all of them."""
    nodes = {event.node for event in events}
    node = nodes.pop() if len(nodes) == 1 else None
    ranks = {(event.rank, _local_rank(event)) for event in events} - {(None, None)}
    world = max(case.world, len(case.ranks))
    times = [event.time for event in events if event.time is not None]
    at_once = max(times, default=0.0) - min(times, default=0.0) < 60  # if times are known
    # Whether the events say the same, apart from numbers.
    alike = len({re.sub(_NUMBER, "", event.says) for event in events}) == 1
    if len(ranks) > 1 and len(ranks) >= world and at_once and alike:
        return Place(everywhere=True)
    for event in events:
        if all(other is event or is_before(event, other) for other in events):
            return Place(event.node, event.rank, local_rank=_local_rank(event))
    names = tuple(name_of(event.node, event.rank, event.local_rank) for event in events)
    return Place(node, None, names, alike=alike)


def name_of(node: str | None, rank: int | None, local_rank: int | None = None) -> str:
    """The name of a place, as far as it is known: `rank 5 on nodeA`, `local rank 1 on nodeA`."""
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
    progress = _numbers(events, _PROGRESS)
    if behind := _lowest(progress):
        return behind
    # Where a line does not name its group, the others must all be at the next number.
    waits = _numbers(events, _WAITS)
    behind = _lowest(waits)
    others = {number for rank, number in waits.items() if rank not in behind}
    return behind if {number - _NEXT for number in others} == {waits[r] for r in behind} else set()


def _numbers(events: list[Event], pattern: str) -> dict[int, int]:
    """The first number of each rank, in the group in which most ranks have one."""
    groups: dict[str, dict[int, int]] = {}
    for event in events:
        found = re.search(pattern, event.text)
        if found and event.rank is not None:
            group = groups.setdefault(found["group"] or "", {})
            group.setdefault(event.rank, int(found["enqueued"]))
    return max(groups.values(), key=len, default={})


def _lowest(numbers: dict[int, int]) -> set[int]:
    """The only rank with the lowest number, if so many ranks have one that this shows something."""
    lowest = min(numbers.values(), default=0)
    behind = {rank for rank, number in numbers.items() if number == lowest}
    return behind if len(numbers) >= GAP_SHOWS and len(behind) == 1 else set()


def silent_ranks(case: Case, reports: list[Event]) -> set[int]:
    """The ranks that do not complain where nearly all others do."""
    ranks = {event.rank for event in reports if event.rank is not None}
    ranks |= {e.rank for e in case.events if e.rank is not None and re.search(_WATCHDOG, e.text)}
    everybody = case.everybody
    if len(ranks) >= GAP_SHOWS and not everybody - ranks:
        # All ranks up to the highest that reports, unless the log may be cut off among the reports.
        last, files = max(event.line for event in reports), {event.file for event in reports}
        is_whole = len(files) > 1 or any(event.line > last for event in case.events)
        if is_whole and max(ranks) < 2 * len(ranks):  # else too many would be silent
            everybody = set(range(max(ranks)))
    silent = everybody - ranks
    most = max(1, len(everybody) // 4)
    return silent if len(ranks) >= FEWEST_REPORTS and len(silent) <= most else set()


def node_cut_off(case: Case, reports: list[Event]) -> Place | None:
    """The only node that cannot reach the head node, if other nodes are seen, which can."""
    nodes = {event.node for event in reports if event.code == "rendezvous"}
    node = nodes.pop() if len(nodes) == 1 else None
    is_alone = node and set(case.addresses.values()) > {node}
    return Place(node) if is_alone and all(event.rank is None for event in reports) else None


def place_of_ranks(case: Case, ranks: set[int]) -> Place:
    """The place of one rank, or a place that lists a few ranks, one of which failed."""
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
    """The only node to which connections were lost, and that itself blames no other node."""
    edges = [(event.node, _node_of_peer(case, event.peer)) for event in events if event.peer]
    targets = {peer for node, peer in edges if peer and peer != node}
    sources = {node for node, peer in edges if peer and peer != node}
    ends = targets - sources
    return ends.pop() if len(ends) == 1 else None


def _node_of_peer(case: Case, peer: str) -> str | None:
    """The node of an address; the address itself, if no log names its node."""
    plain = re.sub(_PORT, r"\1\2", peer.strip())
    if re.match(_LOOPBACK, plain):
        return None
    return case.addresses.get(plain, plain or None)
