"""A map of all pairs: a square for each, darker the worse it is beside the median of all pairs.

Each class of values is one path, with runs of equal cells in one stroke, so that a map of 512
nodes has kilobytes. Its coordinates are cells: `M3 5h4` are the cells 3 to 6 of row 5.
"""

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import NamedTuple

from jobgen.doctor.numbers import short_names
from jobgen.doctor.pairs import ITSELF, MISSING, Class, PairMap

SIDE = 300.0  # of the square, in the drawing's units
CELLS = 256  # in a row; of more nodes, a cell is the worst pair of a block
_LETTER = 5.9  # the width of a letter of a name
_NAMED = 24  # nodes whose names fit beside the map
_RING = 8.0  # the least size of what marks a pair, so that it can be seen among many


class HeatMap(NamedTuple):
    """The numbers of a drawing; the square begins at (left, top)."""

    pairs: PairMap
    left: float
    top: float
    side: float  # of the square
    cell: float  # the side of a pair
    step: int  # how many nodes a row stands for
    paths: list[tuple[Class, str]]
    names: list[str]  # of the nodes; empty where they do not fit
    ticks: list[int]  # the nodes whose numbers stand there instead
    ring: float  # the side of what marks a pair


def heat_map(pairs: PairMap) -> HeatMap:
    """The drawing of a map."""
    count = len(pairs.nodes)
    step = -(-count // CELLS)
    rows = worst_of_blocks(pairs.classes, step) if step > 1 else pairs.classes
    paths = class_paths(rows)
    names, left_margin, top_margin, ticks = _names(pairs), 42.0, 22.0, []
    if names:
        left_margin = top_margin = _LETTER * max(map(len, names)) + 8
    else:
        every = next(s for s in (5, 10, 20, 50, 100, 200, 500) if count / s <= 8)
        ticks = [0, *range(every - 1, count, every)]
    return HeatMap(
        *(pairs, left_margin, top_margin, SIDE, SIDE / count, step),
        paths=[(kind, paths[kind]) for kind in (MISSING, ITSELF, 1, 2, 3, 4) if kind in paths],
        names=names,
        ticks=ticks,
        ring=max(SIDE / count, _RING),
    )


def _names(pairs: PairMap) -> list[str]:
    """The names, those of bad nodes with a mark, if all of them fit."""
    if len(pairs.nodes) > _NAMED:
        return []
    names = enumerate(short_names(pairs.nodes))
    return [f"▶ {name}" if i in pairs.bad else name for i, name in names]


def worst_of_blocks(classes: Sequence[Sequence[Class]], step: int) -> list[list[Class]]:
    """A smaller map, each cell of which is the worst of `step` by `step` cells."""
    spans = [slice(i, i + step) for i in range(0, len(classes), step)]
    return [[_worst(c for row in classes[a] for c in row[b]) for b in spans] for a in spans]


def _worst(cells: Iterable[Class]) -> Class:
    block = set(cells)
    numbers = [cell for cell in block if isinstance(cell, int)]
    return max(numbers) if numbers else MISSING if MISSING in block else ITSELF


def class_paths(rows: Sequence[Sequence[Class]]) -> dict[Class, str]:
    """The path of each class; class 0 has none, since it is what lies below the others."""
    paths: dict[Class, list[str]] = {}
    for y, row in enumerate(rows):
        ends: dict[Class, int] = {}
        x = 0
        for kind, run in groupby(row):
            length = sum(1 for _ in run)
            if kind != 0:
                start = f"m{x - ends[kind]} 0" if kind in ends else f"M{x} {y}"
                paths.setdefault(kind, []).append(f"{start}h{length}")
                ends[kind] = x + length
            x += length
    return {kind: "".join(runs) for kind, runs in paths.items()}
