"""The bandwidths or latencies of all node pairs: a class for each pair, and a map of the pairs.

The map has a cell for each pair, which is darker the worse the pair is beside the median of all
pairs. Each class is one SVG path, in which equal neighbours are one stroke, so that the map of 512
nodes takes kilobytes. The coordinates are cells: `M3 5h4` draws the cells 3 to 6 of row 5.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

from jobgen.doctor.numbers import (
    BOUNDS,
    NO_VALUE,
    fitness,
    fitness_class,
    middle_of,
    number_text,
    short_names,
)
from jobgen.doctor.results import Matrix, Results

CELLS = 256  # the most cells in a row; with more nodes, a cell shows the worst pair of a block
_LETTER = 5.9  # the width of one letter in a name
_NAMED = 24  # up to so many nodes, names fit beside the map
_RING = 8.0  # the least size of the mark around a pair, so that it is visible among many cells
MISSING, ITSELF = "missing", "itself"
Class = int | str  # 0 is good, 4 is worst; or MISSING or ITSELF


@dataclass(frozen=True)
class PairMap:
    """A map of all pairs; `bad` and `pairs` have the indices of nodes and pairs with findings."""

    name: str
    title: str
    unit: str
    higher_is_better: bool
    values: Matrix
    nodes: tuple[str, ...]
    bad: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]
    tolerance: float  # the share by which a fault is worse than the median; 0 if not known

    side = 300.0  # of the whole square, in the units of the drawing

    @property
    def cell(self) -> float:
        """The side of one pair's square."""
        return self.side / len(self.nodes)

    @property
    def step(self) -> int:
        """The number of nodes that one row of cells stands for."""
        return -(-len(self.nodes) // CELLS)

    @property
    def ring(self) -> float:
        """The side of the mark around a pair."""
        return max(self.cell, _RING)

    @cached_property
    def names(self) -> list[str]:
        """The names of the nodes, bad nodes with a mark; empty if not all names fit."""
        names = enumerate(short_names(self.nodes) if len(self.nodes) <= _NAMED else [])
        return [f"▶ {name}" if i in self.bad else name for i, name in names]

    @property
    def left_edge(self) -> float:
        """The x coordinate where the square begins."""
        return _LETTER * max(map(len, self.names)) + 8 if self.names else 42.0

    @property
    def top_edge(self) -> float:
        """The y coordinate where the square begins."""
        return self.left_edge if self.names else 22.0

    def ticks(self) -> list[int]:
        """The indices of the nodes whose numbers are beside the square if there are no names."""
        count = len(self.nodes)
        every = next(s for s in (5, 10, 20, 50, 100, 200, 500) if count / s <= 8)
        return [0, *range(every - 1, count, every)]

    def paths(self) -> list[tuple[Class, str]]:
        """The SVG path of each class that occurs and has a colour of its own."""
        rows = worst_of_blocks(self.classes, self.step) if self.step > 1 else self.classes
        paths = class_paths(rows)
        return [(kind, paths[kind]) for kind in (MISSING, ITSELF, 1, 2, 3, 4) if kind in paths]

    @cached_property
    def median(self) -> float | None:
        """The median of all pairs, each counted once."""
        return middle_of(v for a, row in enumerate(self.values) for v in row[:a])

    @cached_property
    def classes(self) -> list[list[Class]]:
        """The class of each pair, a row for each node."""
        return [
            [ITSELF if a == b else self._class(value) for b, value in enumerate(row)]
            for a, row in enumerate(self.values)
        ]

    def _class(self, value: float | None) -> Class:
        return MISSING if value is None else fitness_class(self._share(value))

    def _share(self, value: float) -> float:
        return fitness(value, self.median or 0.0, self.higher_is_better)

    def marked_names(self) -> list[str]:
        """The bad nodes and pairs, with the signs that mark them in the map."""
        nodes = [f"▶ {self.nodes[i]} (row {i + 1})" for i in self.bad]
        return nodes + [f"▢ {self.nodes[a]} – {self.nodes[b]}" for a, b in self.pairs]

    def legend(self) -> list[tuple[Class, str, int]]:
        """Each class with its range of values, relative to the median, and its number of pairs."""
        counts = Counter(kind for a, row in enumerate(self.classes) for kind in row[:a])
        rows = [(kind, self._range(kind), counts[kind]) for kind in range(len(BOUNDS) + 1)]
        missing = [(MISSING, "not measured", counts[MISSING])] if counts[MISSING] else []
        return [*rows, *missing]

    def _range(self, kind: int) -> str:
        if self.higher_is_better:
            shares, unit, more, less = [f"{100 * b:.0f}" for b in BOUNDS], "%", "≥", "<"
        else:
            shares, unit, more, less = [f"{1 / b:.3g}" for b in BOUNDS], "×", "≤", ">"
        if kind == 0:
            return f"{more} {shares[0]} {unit}"
        if kind == len(BOUNDS):
            return f"{less} {shares[-1]} {unit}"
        ends = sorted(shares[kind - 1 : kind + 1], key=float)
        return f"{'–'.join(ends)} {unit}"

    def ends_of_nodes(self) -> Iterator[list[str]]:
        """A row for each node: the median of its pairs, its best pair and its worst pair."""
        for a, row in enumerate(self.values):
            others = ((v, self.nodes[b]) for b, v in enumerate(row) if v is not None and b != a)
            pairs = sorted(others)
            if not pairs:
                yield [self.nodes[a], *[NO_VALUE] * 5]
                continue
            best, worst = (pairs[-1], pairs[0]) if self.higher_is_better else (pairs[0], pairs[-1])
            middle = number_text(middle_of(value for value, _ in pairs))
            ends = (number_text(best[0]), best[1], number_text(worst[0]), worst[1])
            yield [self.nodes[a], middle, *ends]

    def limit(self) -> str:
        """The bound from which a pair may be a fault, in words; "" if there is no tolerance."""
        if not 0 < self.tolerance < 1:
            return ""
        share = 1 - self.tolerance
        if self.higher_is_better:
            return f"less than {100 * share:.0f} % of the median"
        return f"more than {1 / share:.3g} × the median"

    def worse_than(self, bound: float) -> list[tuple[float, int, int, float]]:
        """The pairs below a share of the median: share, both nodes, value; the worst pair first."""
        shares = (
            (self._share(value), a, b, value)
            for a, row in enumerate(self.values)
            for b, value in enumerate(row[:a])
            if value is not None
        )
        return sorted(found for found in shares if found[0] < bound)


def pair_maps(results: Results) -> list[PairMap]:
    """The maps of bandwidths and of latencies; no map of values that were not measured."""
    names = tuple(node.name for node in results.nodes)
    places = {name: i for i, name in enumerate(names)}
    tolerances = {name: measure.tolerance for name, measure in results.measures.items()}
    kinds = (
        ("network", "bandwidth", "Bandwidth", "GB/s", True, results.pairs.bandwidth),
        ("latency", "latency", "Latency", "µs", False, results.pairs.latency),
    )
    return [
        PairMap(
            *(name, title, unit, higher, values, names),
            bad=results.bad_nodes(measure),
            pairs=tuple(
                (places[found.pair[0]], places[found.pair[1]])
                for found in results.verdict.findings
                if found.measure == measure and found.pair
            ),
            tolerance=tolerances.get(measure, 0.0),
        )
        for measure, name, title, unit, higher, values in kinds
        if values
    ]


def worst_of_blocks(classes: Sequence[Sequence[Class]], step: int) -> list[list[Class]]:
    """A smaller map, in which a cell has the worst class of `step` by `step` cells."""
    spans = [slice(i, i + step) for i in range(0, len(classes), step)]
    worse = (ITSELF, MISSING, *range(len(BOUNDS) + 1)).index
    return [
        [max({c for row in classes[a] for c in row[b]}, key=worse) for b in spans] for a in spans
    ]


def class_paths(rows: Sequence[Sequence[Class]]) -> dict[Class, str]:
    """The SVG path of each class; class 0 has none, since the background has its colour."""
    paths: dict[Class, list[str]] = {}
    for y, row in enumerate(rows):
        x = 0
        for kind, run in groupby(row):
            length = sum(1 for _ in run)
            if kind != 0:
                paths.setdefault(kind, []).append(f"M{x} {y}h{length}")
            x += length
    return {kind: "".join(runs) for kind, runs in paths.items()}
