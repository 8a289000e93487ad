"""A small drawing for each measure: a bar for each node, the median, and marks at bad nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from jobgen.doctor.markup import Markup, drawing, label, tag
from jobgen.doctor.numbers import NAME_CHARACTERS, number_text, short_names, shortened

FEW = 6  # nodes of which the drawings are narrow
_WIDTH, _NARROW, _HEIGHT = 360.0, 170.0, 130.0
_LEFT, _TOP, _BASE = 4.0, 28.0, 112.0
_WIDEST_SLOT = 44.0
_LETTER = 6.3  # the width of a letter of a name
_FARTHEST = 1.6  # times the largest value
_LABELS = 3  # bad nodes that are named above their bars


@dataclass(frozen=True)
class BarChart:
    """What a drawing shows; `bad` are the indexes of nodes with a finding."""

    name: str
    title: str
    unit: str
    values: Sequence[float | None]
    nodes: tuple[str, ...]
    bad: frozenset[int]
    median: float | None
    limit: float | None  # beyond it a value may be bad

    @property
    def top(self) -> float:
        """The value at the upper edge; a limit far above all values would make them flat."""
        top = max((value for value in self.values if value is not None), default=0.0)
        limit = self.limit or 0.0
        return max(top, limit if limit <= _FARTHEST * top else 0.0) or 1.0

    def height(self, value: float) -> float:
        """That of a bar."""
        return (_BASE - _TOP) * min(value / self.top, 1.0)

    @property
    def slot(self) -> float:
        """The width that a node has."""
        return min((self.width - 2 * _LEFT) / len(self.nodes), _WIDEST_SLOT)

    @property
    def width(self) -> float:
        """Of the drawing."""
        return _NARROW if len(self.nodes) <= FEW else _WIDTH

    @property
    def right(self) -> float:
        """Where the bars end."""
        return _LEFT + self.slot * len(self.nodes)


def bar_chart(chart: BarChart) -> Markup:
    """The drawing."""
    good = [i for i in range(len(chart.nodes)) if i not in chart.bad]
    bad = sorted(chart.bad)
    parts = [
        tag("path", class_="bars", d=_bars(chart, good, 0.0)),
        *([tag("path", class_="bars bad", d=_bars(chart, bad, 3.0))] if bad else ()),
        *_missing(chart),
        *_line(chart, chart.limit, "limit"),
        *_line(chart, chart.median, "median"),
        tag("path", class_="axis", d=f"M{_LEFT:g} {_BASE:g}H{chart.right:.4g}"),
        *_marks(chart, bad),
        *_names(chart),
    ]
    text = f"{len(chart.nodes)} bars; the median is {number_text(chart.median, chart.unit)}."
    return drawing(chart.name, (chart.width, _HEIGHT), chart.title, text, *parts, kind="measure")


def _bars(chart: BarChart, indexes: Sequence[int], least_width: float) -> str:
    """One path of all bars: from the axis up, to the right, and down."""
    width = max(chart.slot * (0.72 if chart.slot >= 3 else 1.0), least_width)
    path = []
    for i in indexes:
        if (value := chart.values[i]) is not None:
            x, height = _centre(chart, i) - width / 2, chart.height(value)
            path.append(f"M{x:.5g} {_BASE:g}v{-height:.4g}h{width:.4g}v{height:.4g}z")
    return "".join(path)


def _centre(chart: BarChart, index: int) -> float:
    return _LEFT + (index + 0.5) * chart.slot


def _missing(chart: BarChart) -> Iterator[Markup]:
    indexes = [i for i, value in enumerate(chart.values) if value is None]
    crosses = (f"M{_centre(chart, i) - 2:.5g} {_BASE - 6:g}l4 4m-4 0l4 -4" for i in indexes)
    if path := "".join(crosses):
        yield tag("path", class_="cross", d=path)


def _line(chart: BarChart, value: float | None, kind: str) -> Iterator[Markup]:
    if value is not None and value <= chart.top:
        y = f"{_BASE - chart.height(value):.4g}"
        yield tag("line", class_=kind, x1=_LEFT, x2=f"{chart.right:.4g}", y1=y, y2=y)


def _marks(chart: BarChart, bad: Sequence[int]) -> Iterator[Markup]:
    """A triangle above each bad bar, and the names of the first ones that do not overlap."""
    free = 0.0
    for count, i in enumerate(bad):
        x, value = _centre(chart, i), chart.values[i]
        y = _BASE - chart.height(value or 0.0) - 3
        yield tag("path", class_="mark", d=f"M{x:.5g} {y:.4g}l-4 -7h8z")
        text = f"{shortened(chart.nodes[i])} {number_text(value)}"
        half = len(text) * _LETTER / 2
        centre = max(min(x, chart.width - _LEFT - half), _LEFT + half)
        if count < _LABELS and centre - half >= free:
            yield label(text, centre, min(y - 10, _TOP - 12), "name bad", text_anchor="middle")
            free = centre + half + 6


def _names(chart: BarChart) -> Iterator[Markup]:
    """All names below the axis, if they fit; else the first and the last."""
    names = short_names(chart.nodes)
    fits = max(map(len, names)) * _LETTER <= chart.slot - 1
    for i, name in enumerate(names):
        if fits:
            kind = "name bad" if i in chart.bad else "name"
            yield label(name, _centre(chart, i), _BASE + 13, kind, text_anchor="middle")
    if not fits:
        yield label(shortened(chart.nodes[0]), _LEFT, _BASE + 13, "name")
    if not fits and len(names) > 1:
        right = max(chart.right, 2 * _LETTER * NAME_CHARACTERS)
        yield label(shortened(chart.nodes[-1]), right, _BASE + 13, "name", text_anchor="end")
