"""The coordinates of two kinds of drawings: bars of a measure on all nodes, and all-reduce curves.

Not here: the SVG that is made from the coordinates (assets/drawings.html.j2).
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

FEW = 6  # up to so many nodes, a drawing is narrow
_WIDTH, _NARROW = 360.0, 170.0
_WIDEST_SLOT = 44.0
_LETTER = 6.3  # the width of one letter in a name
_FARTHEST = 1.6  # a limit above this multiple of the largest value is not drawn
_LABELS = 3  # the most bad nodes whose names are above their bars
_NAMED = 4  # the most bad nodes that are named below the drawing
_SIZES = 6  # about the number of message sizes at an axis


class Label(NamedTuple):
    """A text in a drawing; `anchor` is the part of the text that is at x: start, middle or end."""

    text: str
    x: float
    y: float
    anchor: str
    is_bad: bool = False


@dataclass(frozen=True)
class BarChart:
    """The bars of a measure on all nodes; `bad` has the indices of nodes with a finding, sorted."""

    left, upper, base = 4.0, 28.0, 112.0  # the edges of the area with the bars
    height = 130.0  # of the whole drawing

    measure: Measure
    values: Sequence[float | None]
    nodes: tuple[str, ...]
    bad: tuple[int, ...]
    median: float | None  # of the measured values; None without any
    limit: float | None  # the worst tolerated value; None if the measure has no tolerance
    top: float  # the value at the upper edge
    width: float  # of the whole drawing
    slot: float  # the width for one node's bar and its gap

    @property
    def right(self) -> float:
        """The x coordinate where the bars end."""
        return self.left + self.slot * len(self.nodes)

    def y(self, value: float) -> float:
        """The y coordinate of the top of a value's bar."""
        return self.base - (self.base - self.upper) * min(value / self.top, 1.0)

    def centre(self, node: int) -> float:
        """The x coordinate of the middle of a node's bar."""
        return self.left + (node + 0.5) * self.slot

    def bars(self, bad: bool) -> str:
        """One SVG path with all bad bars, or with all others; a bar is drawn from the axis up."""
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
        """One SVG path with a cross for each node without a value."""
        nodes = [i for i, value in enumerate(self.values) if value is None]
        return "".join(f"M{self.centre(i) - 2:.5g} {self.base - 6:g}l4 4m-4 0l4 -4" for i in nodes)

    def lines(self) -> list[tuple[str, float]]:
        """The lines across all bars, limit and median: the kind and the y coordinate of each."""
        lines = (("limit", self.limit), ("median", self.median))
        return [(kind, self.y(v)) for kind, v in lines if v is not None and v <= self.top]

    def labels(self) -> Iterator[Label]:
        """The names of the first bad nodes, unless they overlap; then the names below the axis."""
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
        """The names of all nodes, if they fit; else the names of the first and the last node."""
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
        """A sentence that compares the bad nodes with the median."""
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
    """The bar chart of one measure."""
    names = tuple(node.name for node in results.nodes)
    values = [node.values.get(measure.name) for node in results.nodes]
    median, limit, share = middle_of(values), None, 1 - measure.tolerance
    if median is not None and 0 < share < 1:
        limit = median * share if measure.higher_is_better else median / share
    top = max((value for value in values if value is not None), default=0.0)
    if limit and limit <= _FARTHEST * top:  # a limit far above all values would flatten the bars
        top = max(top, limit)
    width = _NARROW if len(names) <= FEW else _WIDTH
    slot = min((width - 2 * BarChart.left) / len(names), _WIDEST_SLOT)
    bad = results.bad_nodes(measure.name)
    return BarChart(measure, values, names, bad, median, limit, top or 1.0, width, slot)


class Curve(NamedTuple):
    """One curve; `shape`, the form of its points, is "round" or "square"."""

    title: str
    shape: str
    points: tuple[Point, ...]

    @property
    def best(self) -> Point:
        """The point with the highest rate."""
        return max(self.points, key=lambda point: point.rate)


@dataclass(frozen=True)
class CurveChart:
    """The curves with at least one point, and the ends of both axes."""

    left, right, upper, base = 36.0, 360.0, 12.0, 196.0  # the edges of the area with the curves
    width, height = 372.0, 236.0  # of the whole drawing

    curves: list[Curve]
    first: float  # log2 of the smallest size
    last: float  # log2 of the largest size
    top: float  # the rate at the upper edge
    step: float  # between two rates at the axis

    def x(self, size: float) -> float:
        """The x coordinate of a message size."""
        share = (log2(size) - self.first) / (self.last - self.first)
        return self.left + (self.right - self.left) * share

    def y(self, rate: float) -> float:
        """The y coordinate of a rate."""
        return self.base - (self.base - self.upper) * rate / self.top

    def path(self, curve: Curve) -> str:
        """The SVG path through the points of a curve."""
        points = (f"{self.x(point.size):.5g} {self.y(point.rate):.5g}" for point in curve.points)
        return f"M{'L'.join(points)}"

    def rates(self) -> list[float]:
        """The rates that are written at the axis."""
        return [i * self.step for i in range(round(self.top / self.step) + 1)]

    def sizes(self) -> Iterator[tuple[str, float]]:
        """The sizes that are written at the axis, with their x coordinates, the largest first."""
        first, last = round(self.first), round(self.last)
        for power in range(last, first - 1, -max(1, -(-(last - first) // _SIZES))):
            yield bytes_text(2**power), self.x(2.0**power)


def all_reduce_curves(results: Results) -> CurveChart | None:
    """The chart of all-reduces; None if none was measured."""
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
    """A step of 1, 2 or 5 times a power of ten; three to six such steps reach the top."""
    power = 10.0 ** floor(log10(top / 3))
    return power * max(n for n in (1, 2, 5) if n == 1 or n * power <= top / 3)
