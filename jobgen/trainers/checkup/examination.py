"""The examination: measures nodes and pairs, and what looks slow again."""

import math
import os
import socket
import time
from functools import reduce
from statistics import median
from typing import Any

import torch

from jobgen.trainers.checkup.exchanges import measure_pairs
from jobgen.trainers.checkup.judging import MEASURES, PAIRS, SLOWEST_RANK, find_slow, short
from jobgen.trainers.checkup.node import measure_node, notes_of_node
from jobgen.trainers.checkup.place import Place, gathered, wait_for_all
from jobgen.trainers.shared.rank import GPU


def own_address() -> str:
    """The address at which this node reaches node 0."""
    try:
        found = socket.getaddrinfo(os.environ["MASTER_ADDR"], 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(*found[:2]) as probe:
            probe.connect(found[4])
            return str(probe.getsockname()[0])
    except OSError:
        return ""


def clock_offsets() -> list[float]:
    """Seconds by which each rank's clock is ahead of rank 0's, to a few milliseconds."""
    stamps = []
    for _ in range(5):
        wait_for_all()
        stamps.append(time.time())
    rows = gathered(stamps)
    return [median(b - a for a, b in zip(rows[0], row, strict=True)) for row in rows]


def describe_node(place: Place, number: int, ranks: list[Any], offset: float) -> dict[str, Any]:
    """A node of the results, of what each of its ranks has found: values, notes, address."""
    own = [ranks[rank] for rank in place.ranks[number]]
    by_rank = {key: [short(r[0][key]) for r in own if key in r[0]] for key in MEASURES}
    by_rank = {key: values for key, values in by_rank.items() if values}
    notes = list(dict.fromkeys(note for rank in own for note in rank[1]))
    if abs(offset) > 1:
        notes.append(f"its clock is {offset:+.1f} s from that of {place.hosts[0]}")
    return {
        "name": place.hosts[number],
        "address": own[0][2],
        "clock_offset": round(offset, 3),
        "values": {
            key: short(min(values) if GPU and key in SLOWEST_RANK else sum(values))
            for key, values in by_rank.items()
        },
        "ranks": {key: values for key, values in by_rank.items() if len(values) > 1},
        "notes": notes,
    }


def add_pairs(results: dict[str, Any], table: torch.Tensor) -> None:
    """The pairs, and each node's best pair, for the results."""
    for (key, name), rows in zip(PAIRS.items(), table.tolist(), strict=True):
        pairs = [[None if math.isnan(value) else short(value) for value in row] for row in rows]
        results["pairs"][key] = pairs
        for node, row in zip(results["nodes"], pairs, strict=True):
            values = [value for value in row if value is not None]
            if values:
                node["values"][name] = reduce(MEASURES[name].better, values)


def examine(place: Place, folder: str, previous: dict[str, Any] | None) -> dict[str, Any]:
    """Nodes and pairs. What looks slow is measured again, and the best counts."""
    values: dict[str, float] = {}
    notes = notes_of_node() if place.local == 0 else []
    names, table = list(MEASURES), torch.tensor([])
    for attempt in range(3 if len(place.hosts) <= 16 else 2):
        own = [name for name in names if name not in PAIRS.values()]
        for name, value in measure_node(own, place, folder, notes).items():
            values[name] = MEASURES[name].better(value, values.get(name, value))
        if len(place.hosts) > 1 and set(PAIRS.values()) & set(names):
            new = measure_pairs(place, notes)
            old = table if attempt else new
            table = torch.stack([torch.fmax(old[0], new[0]), torch.fmin(old[1], new[1])])
        ranks, offsets = gathered((values, notes, own_address())), clock_offsets()
        firsts = [offsets[ranks[0]] for ranks in place.ranks]
        nodes = [describe_node(place, i, ranks, offset) for i, offset in enumerate(firsts)]
        results: dict[str, Any] = {"nodes": nodes, "pairs": {"bandwidth": [], "latency": []}}
        if len(place.hosts) > 1:
            add_pairs(results, table)
        slow = {finding["measure"] for finding in find_slow(results, previous, 0)}
        names = [name for name in MEASURES if name in slow]
        if not names:
            break
    return results
