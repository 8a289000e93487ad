"""The numbers of the drawings of measures: bars of all nodes, and curves of all-reduces.

Not here: the lines of SVG that are made of them (assets/drawings.html.j2).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log2, log10
from typing import NamedTuple

from jobgen.doctor.numbers import (
    NAME_CHARACTERS,
    bytes_text,
    fitness,
    middle_of,
    number_text,
    short_names,
    shortened,
)
from jobgen.doctor.results import Measure, Point, Results

FEW = 6  # nodes of which the drawings are narrow
_WIDTH, _NARROW = 360.0, 170.0
_WIDEST_SLOT = 44.0
_LETTER = 6.3  # the width of a letter of a name
_FARTHEST = 1.6  # times the largest value
_LABELS = 3  # bad nodes that are named above their bars
_NAMED = 4  # bad nodes that are named below the drawing
_SIZES = 6  # on an axis


class Label(NamedTuple):
    """A text of a drawing, and which of its points is at x: start, middle or end."""

    text: str
    x: float
    y: float
    anchor: str
    is_bad: bool = False


@dataclass(frozen=True)
class BarChart:
    """A measure of all nodes; `bad` are the places of nodes with a finding, in order."""

    left, upper, base = 4.0, 28.0, 112.0  # of the bars
    height = 130.0  # of the drawing

    measure: Measure
    values: Sequence[float | None]
    nodes: tuple[str, ...]
    bad: tuple[int, ...]
    median: float | None  # of the values that exist
    limit: float | None  # the tolerance's end, if the measure has a tolerance
    top: float  # the value at the upper edge
    width: float  # of the drawing
    slot: float  # the width that a node has

    @property
    def right(self) -> float:
        """Where the bars end."""
        return self.left + self.slot * len(self.nodes)

    def y(self, value: float) -> float:
        """Where a bar of a value ends."""
        return self.base - (self.base - self.upper) * min(value / self.top, 1.0)

    def centre(self, node: int) -> float:
        """The middle of a node's bar."""
        return self.left + (node + 0.5) * self.slot

    def bars(self, bad: bool) -> str:
        """One path of all bad bars or of all others: from the axis up, to the right, and down."""
        width = max(self.slot * (0.72 if self.slot >= 3 else 1.0), 3.0 if bad else 0.0)
        sizes = (
            (self.centre(i) - width / 2, self.base - self.y(value))
            for i, value in enumerate(self.values)
            if value is not None and (i in self.bad) == bad
        )
        return "".join(
            f"M{x:.5g} {self.base:g}v{-height:.4g}h{width:.4g}v{height:.4g}z" for x, height in sizes
        )

    def crosses(self) -> str:
        """One path of a cross for each node without a value."""
        nodes = [i for i, value in enumerate(self.values) if value is None]
        return "".join(f"M{self.centre(i) - 2:.5g} {self.base - 6:g}l4 4m-4 0l4 -4" for i in nodes)

    def lines(self) -> list[tuple[str, float]]:
        """The kind and the height of the lines across all bars."""
        lines = (("limit", self.limit), ("median", self.median))
        return [(kind, self.y(v)) for kind, v in lines if v is not None and v <= self.top]

    def labels(self) -> Iterator[Label]:
        """The names of the first bad nodes that do not overlap, and those below the axis."""
        free = 0.0
        for i in self.bad[:_LABELS]:
            value = self.values[i]
            text = f"{shortened(self.nodes[i])} {number_text(value)}"
            half = len(text) * _LETTER / 2
            x = max(min(self.centre(i), self.width - self.left - half), self.left + half)
            if x - half >= free:
                y = min(self.y(value or 0.0) - 13, self.upper - 12)
                yield Label(text, x, y, "middle", is_bad=True)
                free = x + half + 6
        yield from self._names(self.base + 13)

    def _names(self, y: float) -> Iterator[Label]:
        """All of them, if they fit; else the first and the last."""
        names = short_names(self.nodes)
        if max(map(len, names)) * _LETTER <= self.slot - 1:
            for i, name in enumerate(names):
                yield Label(name, self.centre(i), y, "middle", i in self.bad)
            return
        yield Label(shortened(self.nodes[0]), self.left, y, "start")
        if len(names) > 1:
            right = max(self.right, 2 * _LETTER * NAME_CHARACTERS)
            yield Label(shortened(self.nodes[-1]), right, y, "end")

    def note(self) -> str:
        """How bad the bad nodes are."""
        shares = "; ".join(self._share_text(node) for node in self.bad[:_NAMED])
        more = len(self.bad) - _NAMED
        return f"{shares}; and {more} more" if more > 0 else shares

    def _share_text(self, node: int) -> str:
        name, value = self.nodes[node], self.values[node]
        if value is None or not self.median:
            return f"▼ {name}"
        if self.measure.higher_is_better:
            return f"▼ {name}: {fitness(value, self.median, True):.2g} of the median"
        return f"▼ {name}: {value / self.median:.3g} times the median"


def bar_chart(measure: Measure, results: Results) -> BarChart:
    """That of a measure."""
    names = tuple(node.name for node in results.nodes)
    values = [node.values.get(measure.name) for node in results.nodes]
    median, limit, share = middle_of(values), None, 1 - measure.tolerance
    if median is not None and 0 < share < 1:
        limit = median * share if measure.higher_is_better else median / share
    top = max((value for value in values if value is not None), default=0.0)
    if limit and limit <= _FARTHEST * top:  # one far above all values would make them flat
        top = max(top, limit)
    width = _NARROW if len(names) <= FEW else _WIDTH
    slot = min((width - 2 * BarChart.left) / len(names), _WIDEST_SLOT)
    bad = results.bad_nodes(measure.name)
    return BarChart(measure, values, names, bad, median, limit, top or 1.0, width, slot)


class Curve(NamedTuple):
    """One line; `shape` is "round" or "square"."""

    title: str
    shape: str
    points: tuple[Point, ...]

    @property
    def best(self) -> Point:
        """The point with the highest rate."""
        return max(self.points, key=lambda point: point.rate)


@dataclass(frozen=True)
class CurveChart:
    """Curves that have points, and the ends of both axes."""

    left, right, upper, base = 36.0, 360.0, 12.0, 196.0  # of the curves
    width, height = 372.0, 236.0  # of the drawing

    curves: list[Curve]
    first: float  # log2 of the smallest size
    last: float
    top: float
    step: float  # of the rates at the axis

    def x(self, size: float) -> float:
        """Where a size of messages is."""
        share = (log2(size) - self.first) / (self.last - self.first)
        return self.left + (self.right - self.left) * share

    def y(self, rate: float) -> float:
        """Where a rate is."""
        return self.base - (self.base - self.upper) * rate / self.top

    def path(self, curve: Curve) -> str:
        """The line through the points of a curve."""
        points = (f"{self.x(point.size):.5g} {self.y(point.rate):.5g}" for point in curve.points)
        return f"M{'L'.join(points)}"

    def rates(self) -> list[float]:
        """Those of the axis."""
        return [i * self.step for i in range(round(self.top / self.step) + 1)]

    def sizes(self) -> Iterator[tuple[str, float]]:
        """Those of the axis with their places, the largest first."""
        first, last = round(self.first), round(self.last)
        for power in range(last, first - 1, -max(1, -(-(last - first) // _SIZES))):
            yield bytes_text(2**power), self.x(2.0**power)


def all_reduce_curves(results: Results) -> CurveChart | None:
    """The chart, if anything was measured."""
    both = (
        Curve("all nodes", "round", results.allreduce.all),
        Curve("within one node, the slowest", "square", results.allreduce.node),
    )
    curves = [curve for curve in both if curve.points]
    if not curves:
        return None
    sizes = [log2(point.size) for curve in curves for point in curve.points]
    top = max(curve.best.rate for curve in curves)
    step = round_step(max(top, 1e-9))
    end = (-(-top // step) or 1) * step
    return CurveChart(curves, min(sizes), max(max(sizes), min(sizes) + 1), end, step)


def round_step(top: float) -> float:
    """A step of 1, 2 or 5 times a power of ten, of which three to six reach the top."""
    power = 10.0 ** floor(log10(top / 3))
    return power * max(n for n in (1, 2, 5) if n == 1 or n * power <= top / 3)
