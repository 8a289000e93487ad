"""What each process group waits in: the first operation that did not end, and who joined it."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from jobgen.diagnosis.flight_recorder.dump import Dump, Operation

# Each rank may give these another number of elements: a part of its own size, or none.
_UNEVEN = ("all_to_all", "alltoall", "gather", "scatter", "_v", "coalesced", "oop")
_DEFAULT_NAMES = ("0", "default_pg")

_PEER = re.compile(r"(?:->|<-)(\d{1,7})$")

Joined = dict[int, Operation]


@dataclass(frozen=True)
class Wait:
    """An operation of a group that did not end.

    `waiting` joined and did not get out; `joined` includes those that did. `behind` have a dump
    that shows that they did not join; `absent` are members without a dump. `dumps` are all ranks'.
    """

    title: str
    number: int
    waiting: Joined
    joined: Joined
    behind: tuple[int, ...]
    absent: tuple[int, ...]
    dumps: dict[int, Dump]


def waits(dumps: dict[int, Dump]) -> list[Wait]:
    """The first operation that did not end of each group that waits, by the groups' names."""
    everybody = world(dumps)
    members: dict[tuple[str, tuple[int, ...]], dict[int, list[Operation]]] = defaultdict(dict)
    for rank, dump in dumps.items():
        for name, operations in _collectives(dump).items():
            members[name, _members(dump, name, everybody)][rank] = operations
    return [
        wait
        for (name, ranks), operations in sorted(members.items())
        if (wait := _wait(name, ranks or tuple(sorted(operations)), operations, dumps))
    ]


def world(dumps: dict[int, Dump]) -> tuple[int, ...]:
    """All ranks of which a dump says something, and those between them."""
    ranks = {
        *dumps,
        *(r for dump in dumps.values() for group in dump.members.values() for r in group),
    }
    return tuple(range(max(ranks) + 1))


def pairs(dump: Dump, everybody: tuple[int, ...]) -> Iterator[int]:
    """The ranks from which, or to which, a rank waits for a message."""
    for operation in dump.operations:
        if operation.pair and not operation.ended:
            members = _members(dump, operation.group, everybody)
            peer = _PEER.search(operation.name)
            if peer and int(peer[1]) < len(members):
                yield members[int(peer[1])]


def differing(joined: Joined) -> dict[int, str]:
    """By rank, what differs among those that joined the same operation; empty if nothing does."""
    names = {rank: operation.name for rank, operation in joined.items()}
    if len(set(names.values())) > 1:
        return names
    if any(part in name for name in names.values() for part in _UNEVEN):
        return {}
    forms = {r: (o.elements, o.dtypes) for r, o in joined.items()}
    if len(set(forms.values())) == 1:
        return {}
    types = {r: ", ".join(sorted(set(o.dtypes))) or "no type" for r, o in joined.items()}
    return {r: f"{o.name} of {o.elements} elements ({types[r]})" for r, o in joined.items()}


def minority(values: dict[int, str]) -> tuple[int, ...]:
    """The ranks whose value is not that of more than half; none if no value is."""
    ((usual, count),) = Counter(values.values()).most_common(1)
    if count * 2 <= len(values):
        return ()
    return tuple(sorted(rank for rank, value in values.items() if value != usual))


def _collectives(dump: Dump) -> dict[str, list[Operation]]:
    """By group; with several operations in one number (coalesced), the last."""
    found: dict[str, dict[int, Operation]] = defaultdict(dict)
    for operation in dump.operations:
        if not operation.pair:
            found[operation.group][operation.number] = operation
    return {name: list(operations.values()) for name, operations in found.items()}


def _members(dump: Dump, name: str, everybody: tuple[int, ...]) -> tuple[int, ...]:
    """The ranks of a group; () where the dump does not say, as with gloo's groups."""
    if name in _DEFAULT_NAMES and name not in dump.members:
        return everybody
    ranks = dump.members.get(name, ())
    return ranks if dump.rank in ranks else ()


def _wait(
    name: str,
    ranks: tuple[int, ...],
    operations: dict[int, list[Operation]],
    dumps: dict[int, Dump],
) -> Wait | None:
    pending = [op.number for ops in operations.values() for op in ops if not op.ended]
    if not pending:
        return None
    number = min(pending)
    joined = {r: op for r, ops in operations.items() for op in ops if op.number == number}
    return Wait(
        _title(name, dumps),
        number,
        {rank: op for rank, op in joined.items() if not op.ended},
        joined,
        tuple(r for r in ranks if r in dumps and _is_behind(dumps[r], operations.get(r), number)),
        tuple(rank for rank in ranks if rank not in dumps),
        dumps,
    )


def _is_behind(dump: Dump, operations: Iterable[Operation] | None, number: int) -> bool:
    """Whether a rank never came to an operation; a full buffer has lost its oldest entries."""
    numbers = [operation.number for operation in operations or ()]
    return max(numbers) < number if numbers else not dump.is_full


def _title(name: str, dumps: dict[int, Dump]) -> str:
    titles = {dump.titles[name] for dump in dumps.values() if name in dump.titles}
    title = min(titles, default="")
    return f"group {name}" if title in ("", "undefined") else title
