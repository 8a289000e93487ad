"""The rate of all-reduces against the size of the message: of all nodes, and within one node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import floor, log2, log10

from jobgen.doctor.markup import Markup, drawing, label, tag
from jobgen.doctor.numbers import bytes_text, number_text
from jobgen.doctor.results import Point

_WIDTH, _HEIGHT = 372.0, 236.0
_LEFT, _RIGHT, _TOP, _BASE = 36.0, 360.0, 12.0, 196.0
_LABELS = 6  # on the axis of sizes


@dataclass(frozen=True)
class Curve:
    """One line; `shape` is "round" or "square"."""

    title: str
    shape: str
    points: tuple[Point, ...]


@dataclass(frozen=True)
class _Axes:
    first: float  # log2 of the smallest size
    last: float
    top: float

    def x(self, size: float) -> float:
        return _LEFT + (_RIGHT - _LEFT) * (log2(size) - self.first) / (self.last - self.first)

    def y(self, rate: float) -> float:
        return _BASE - (_BASE - _TOP) * rate / self.top


def curve_chart(name: str, curves: Sequence[Curve]) -> Markup:
    """The drawing; at least one curve has a point."""
    points = [point for curve in curves for point in curve.points]
    sizes = [log2(point.size) for point in points]
    top = max(point.rate for point in points)
    step = round_step(max(top, 1e-9))
    ticks = -(-top // step) or 1
    axes = _Axes(min(sizes), max(max(sizes), min(sizes) + 1), ticks * step)
    parts = [
        *(_rate_line(axes, i * step, step) for i in range(int(ticks) + 1)),
        *_sizes(axes),
        *(part for curve in curves for part in _line(axes, curve)),
    ]
    best = "; ".join(_best_text(curve) for curve in curves if curve.points)
    text = f"The rate in GB/s against the size of the message. {best}"
    return drawing(name, (_WIDTH, _HEIGHT), "All-reduce", text, *parts, kind="curves")


def round_step(top: float) -> float:
    """A step of 1, 2 or 5 times a power of ten, of which three to six reach the top."""
    power = 10.0 ** floor(log10(top / 3))
    return power * max(n for n in (1, 2, 5) if n == 1 or n * power <= top / 3)


def _best_text(curve: Curve) -> str:
    best = max(curve.points, key=lambda point: point.rate)
    return f"{curve.title}: at most {number_text(best.rate)} GB/s, at {bytes_text(best.size)}"


def _rate_line(axes: _Axes, rate: float, step: float) -> Markup:
    y = axes.y(rate)
    kind = "axis" if rate == 0 else "rule"
    text = f"{rate:g} GB/s" if rate and rate + step / 2 > axes.top else f"{rate:.4g}"
    line = tag("path", class_=kind, d=f"M{_LEFT:g} {y:.4g}H{_RIGHT:g}")
    if rate and rate + step / 2 > axes.top:
        return tag("g", line, label(text, 4, y - 4, "name"))
    return tag("g", line, label(text, _LEFT - 5, y + 3, "name", text_anchor="end"))


def _sizes(axes: _Axes) -> Iterator[Markup]:
    first, last = round(axes.first), round(axes.last)
    step = max(1, -(-(last - first) // _LABELS))
    for power in range(last, first - 1, -step):
        x = axes.x(2.0**power)
        yield tag("path", class_="axis", d=f"M{x:.4g} {_BASE:g}v4")
        anchor = "end" if x > _RIGHT - 20 else "middle"
        at = _RIGHT + 8 if anchor == "end" else x
        yield label(bytes_text(2**power), at, _BASE + 16, "name", text_anchor=anchor)
    middle = (_LEFT + _RIGHT) / 2
    yield label("size of the message", middle, _BASE + 33, "name", text_anchor="middle")


def _line(axes: _Axes, curve: Curve) -> Iterator[Markup]:
    places = [(axes.x(point.size), axes.y(point.rate)) for point in curve.points]
    if not places:
        return
    path = "L".join(f"{x:.4g} {y:.4g}" for x, y in places)
    yield tag("path", class_=f"line {curve.shape}", d=f"M{path}")
    for x, y in places:
        if curve.shape == "round":
            yield tag("circle", class_="dot round", cx=f"{x:.4g}", cy=f"{y:.4g}", r=3)
        else:
            box = {"x": f"{x - 3:.4g}", "y": f"{y - 3:.4g}"}
            yield tag("rect", class_="dot square", **box, width=6, height=6)
