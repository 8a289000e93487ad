"""The rate of all-reduces against the size of the message: of all nodes, and within one node."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, log2, log10
from typing import NamedTuple

from jobgen.doctor.numbers import bytes_text
from jobgen.doctor.results import Point, Results

_LABELS = 6  # on the axis of sizes


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
        for power in range(last, first - 1, -max(1, -(-(last - first) // _LABELS))):
            yield bytes_text(2**power), self.x(2.0**power)


def all_reduce_curves(results: Results) -> CurveChart | None:
    """The chart, if anything was measured."""
    both = (
        Curve("all nodes", "round", results.all_nodes),
        Curve("within one node, the slowest", "square", results.one_node),
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
