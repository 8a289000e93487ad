"""Finds the ranks that the other ranks wait for, from the dumps of a job's ranks.

A process group waits in its first operation that did not end, which some of its ranks joined.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from jobgen.diagnosis.events import Event, Role
from jobgen.diagnosis.flight_recorder.dump import Dump, Operation, read_dump
from jobgen.diagnosis.lines.labels import time_of
from jobgen.errors import listed

# Operations to which each rank may give a different number of elements, or none.
_UNEVEN = ("all_to_all", "alltoall", "gather", "scatter", "_v", "coalesced", "oop")
_DEFAULT_NAMES = ("0", "default_pg")

MOST_EVENTS = 8
_RANKS_SHOWN = 6
# Ranks reach their first operation at different times, and clocks differ.
_SLACK_NANOSECONDS = 15 * 60 * 10**9

Joined = dict[int, Operation]


@dataclass(frozen=True)
class Wait:
    """An operation of a group that did not end.

    `waiting` joined and did not finish; `joined` includes the ranks that finished. The dumps of
    `behind` show that these did not join; `absent` have no dump. `dumps` has those of all ranks.
    """

    title: str
    number: int
    waiting: Joined
    joined: Joined
    behind: tuple[int, ...]
    absent: tuple[int, ...]
    dumps: dict[int, Dump]


def read_dumps(paths: Iterable[str]) -> list[Event]:
    """The events that the dumps of one job's ranks show; an empty list if no rank waits.

    An event names the rank that did not join the operation of the others, or joined another one.
    Raises JobgenError, with the file's name, if a file is no dump, is damaged, or has a class.
    """
    dumps = _of_one_job({dump.rank: dump for dump in map(read_dump, sorted(paths))})
    found = _waits(dumps) if dumps else []
    if events := [event for wait in found for event in _desync(wait)]:
        return events[:MOST_EVENTS]
    in_pairs = {
        rank
        for rank, dump in dumps.items()
        if any(operation.pair and not operation.ended for operation in dump.operations)
    }
    return _who_did_not_join(found, in_pairs)[:MOST_EVENTS]


def _of_one_job(dumps: dict[int, Dump]) -> dict[int, Dump]:
    """The dumps without those of an earlier job: torch uses the same file names for each job."""
    times = {rank: [op.created for op in dump.operations] for rank, dump in dumps.items()}
    begun = max((min(times[r], default=0) for r in dumps if not dumps[r].is_full), default=0)
    least = begun - _SLACK_NANOSECONDS
    return {rank: dump for rank, dump in dumps.items() if max(times[rank], default=least) >= least}


def _waits(dumps: dict[int, Dump]) -> list[Wait]:
    """For each group that waits, the first operation that did not end; sorted by group name."""
    # The key is the name and the ranks of a group; the value has the operations of each rank by
    # number. If several operations have the same number (coalesced), the last one counts.
    groups: dict[tuple[str, tuple[int, ...]], dict[int, Joined]] = defaultdict(dict)
    # All ranks up to the highest rank that a dump names.
    members = (rank for dump in dumps.values() for group in dump.members.values() for rank in group)
    everybody = tuple(range(max([*dumps, *members]) + 1))
    for rank, dump in dumps.items():
        collectives = [operation for operation in dump.operations if not operation.pair]
        ranks = {name: _members(dump, name, everybody) for name in {c.group for c in collectives}}
        for each in collectives:
            group = groups[each.group, ranks[each.group]]
            group.setdefault(rank, {})[each.number] = each
    return [
        wait
        for (name, ranks), operations in sorted(groups.items(), key=lambda group: group[0])
        if (wait := _wait(name, ranks or tuple(sorted(operations)), operations, dumps))
    ]


def _calls(joined: Joined) -> dict[int, str]:
    """The call of each rank: the operation's name, with its size if all names are the same."""
    names = {rank: operation.name for rank, operation in joined.items()}
    uneven = any(part in name for name in names.values() for part in _UNEVEN)
    if uneven or len(set(names.values())) > 1:
        return names
    types = {r: ", ".join(sorted(set(o.dtypes))) or "no type" for r, o in joined.items()}
    return {r: f"{o.name} of {o.elements} elements ({types[r]})" for r, o in joined.items()}


def _members(dump: Dump, name: str, everybody: tuple[int, ...]) -> tuple[int, ...]:
    """The ranks of a group; () where the dump does not say, as with gloo's groups."""
    if name in _DEFAULT_NAMES and name not in dump.members:
        return everybody
    ranks = dump.members.get(name, ())
    return ranks if dump.rank in ranks else ()


def _wait(
    name: str, ranks: tuple[int, ...], operations: dict[int, Joined], dumps: dict[int, Dump]
) -> Wait | None:
    pending = [op.number for each in operations.values() for op in each.values() if not op.ended]
    if not pending:
        return None
    number = min(pending)
    joined = {rank: each[number] for rank, each in operations.items() if number in each}
    title = min((dump.titles[name] for dump in dumps.values() if name in dump.titles), default="")
    return Wait(
        f"group {name}" if title in ("", "undefined") else title,
        number,
        {rank: op for rank, op in joined.items() if not op.ended},
        joined,
        tuple(r for r in ranks if r in dumps and _is_behind(dumps[r], operations.get(r), number)),
        tuple(rank for rank in ranks if rank not in dumps),
        dumps,
    )


def _is_behind(dump: Dump, numbers: Iterable[int] | None, number: int) -> bool:
    """Whether a rank has not reached an operation; a full dump without the group proves nothing."""
    return max(numbers) < number if numbers else not dump.is_full


def _desync(wait: Wait) -> list[Event]:
    """Events for the ranks whose call differs from the usual call; none if all are the same."""
    calls = sorted(_calls(wait.joined).items())
    (usual, most), *others = Counter(call for _, call in calls).most_common()
    if not others:
        return []
    if most * 2 <= len(calls):
        text = ", ".join(f"rank {rank}: {call}" for rank, call in calls[:_RANKS_SHOWN])
        return [_event("desync", None, f"the ranks do not call the same: {text}", wait)]
    number = f"as number {wait.number} of {wait.title}, the others {usual}"
    texts = {r: f"it called {call}{_place(wait, r)} {number}" for r, call in calls if call != usual}
    return [_event("desync", rank, text, wait) for rank, text in texts.items()]


def _who_did_not_join(found: list[Wait], in_pairs: set[int]) -> list[Event]:
    """Events for the ranks to blame: a rank that is behind in one group may wait in another group.

    The ranks `in_pairs` wait for another rank to send or to receive a message.
    """
    busy = {rank for wait in found for rank in wait.waiting}
    for wait in found:
        if idle := [rank for rank in wait.behind if rank not in busy | in_pairs]:
            return _behind(wait, idle)
    for wait in found:
        if wait.absent:
            return _absent(wait)
    for wait in found:
        if wait.behind and not in_pairs:
            text = f"the ranks wait for each other in several groups: {_text(wait.behind)} did not"
            return [_event("desync", None, f"{text} join {_name(wait)}", wait, "likely")]
    return [_all_joined(wait) for wait in found[:1]]


def _behind(wait: Wait, idle: list[int]) -> list[Event]:
    if len(idle) > 1 and len(idle) > len(wait.joined):
        text = f"only {_text(wait.joined)} called {_name(wait)}"
        rank = min(wait.joined) if len(wait.joined) == 1 else None
        return [_event("desync", rank, text, wait, "likely")]
    certainty = "likely" if wait.absent else "sure"
    text = f"it did not join {_name(wait)}, in which {_waiting(wait)}"
    return [
        _event("collective-timeout", rank, text + _last(wait.dumps[rank]), wait, certainty)
        for rank in idle
    ]


def _absent(wait: Wait) -> list[Event]:
    """Events for ranks without a dump, which died or hang in destroy_process_group."""
    if len(wait.absent) * 2 > len(wait.waiting):
        text = f"ranks wait in {_name(wait)}, and of {_text(wait.absent)} there is no dump"
        return [_event("collective-timeout", None, text, wait, "possible")]
    text = f"it has no dump, and {_waiting(wait)} in {_name(wait)}"
    return [_event("collective-timeout", rank, text, wait, "likely") for rank in wait.absent]


def _all_joined(wait: Wait) -> Event:
    text = f"all ranks joined {_name(wait)}, and it did not end"
    started = [rank for rank, operation in wait.waiting.items() if operation.started]
    idle = [rank for rank in wait.waiting if rank not in started]
    if started and len(idle) == 1:
        text += f"; the GPU of rank {idle[0]} alone did not begin it"
        return _event("collective-timeout", idle[0], text, wait, "likely")
    return _event("collective-timeout", None, text, wait, "possible")


def _event(code: str, rank: int | None, says: str, wait: Wait, certainty: str = "sure") -> Event:
    witness = rank if rank is not None and rank in wait.dumps else min(wait.waiting)
    path = wait.dumps[witness].path
    begin = min(operation.created for operation in wait.waiting.values())
    time = time_of(begin / 10**9) if begin else None
    return Event(code, Role.CONFIRMATION, says, path, rank=rank, time=time, certainty=certainty)


def _last(dump: Dump) -> str:
    """The last operation of a rank; a dump does not say where the rank is now."""
    operation = dump.operations[-1] if dump.operations else None
    place = f" at {operation.where}" if operation and operation.where else ""
    return f"; its last was {operation.name}{place}" if operation else "; it joined none"


def _name(wait: Wait) -> str:
    rank, operation = min(wait.waiting.items())
    return f"{operation.name} (number {wait.number} of {wait.title}){_place(wait, rank)}"


def _place(wait: Wait, rank: int) -> str:
    return f" at {wait.joined[rank].where}" if wait.joined[rank].where else ""


def _waiting(wait: Wait) -> str:
    return f"{_text(wait.waiting)} {'waits' if len(wait.waiting) == 1 else 'wait'}"


def _text(ranks: Iterable[int]) -> str:
    numbers = [str(rank) for rank in sorted(ranks)]
    return f"{'rank' if len(numbers) == 1 else 'ranks'} {listed(numbers, _RANKS_SHOWN)}"
