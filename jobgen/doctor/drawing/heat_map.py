"""A map of all pairs: a square for each, darker the worse it is beside the median of all pairs.

Each class of values is one path, with runs of equal cells in one stroke, so that a map of 512
nodes has kilobytes. Its coordinates are cells: `M3 5h4` are the cells 3 to 6 of row 5.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from jobgen.doctor.markup import Markup, drawing, label, tag
from jobgen.doctor.numbers import fitness, fitness_class, middle_of, number_text, short_names
from jobgen.doctor.results import Matrix

MISSING, ITSELF = "missing", "itself"
_SIDE = 300.0  # of the square, in the drawing's units
_LETTER = 5.9  # the width of a letter of a name
_NAMED = 24  # nodes whose names fit beside the map
_WITH_NUMBERS = 10  # nodes for which a value fits into a cell
CELLS = 256  # in a row; of more nodes, a cell is the worst pair of a block
_RING = 8.0  # the least size of what marks a pair, so that it can be seen among many
_RINGS = 50


@dataclass(frozen=True)
class PairMap:
    """What a map shows; `bad` and `pairs` are the nodes and pairs that have findings."""

    name: str
    title: str
    unit: str
    higher_is_better: bool
    values: Matrix
    nodes: tuple[str, ...]
    bad: frozenset[int]
    pairs: tuple[tuple[int, int], ...]

    @property
    def median(self) -> float | None:
        """Of all pairs, each counted once."""
        return middle_of(v for a, row in enumerate(self.values) for v in row[:a])

    def classes(self) -> list[list[int | str]]:
        """The class of each cell: 0 is good, 4 is worst."""
        middle = self.median
        return [
            [self._cell_class(a, b, value, middle) for b, value in enumerate(row)]
            for a, row in enumerate(self.values)
        ]

    def _cell_class(self, a: int, b: int, value: float | None, middle: float | None) -> int | str:
        if a == b:
            return ITSELF
        if value is None or middle is None:
            return MISSING
        return fitness_class(fitness(value, middle, self.higher_is_better))


def heat_map(pairs: PairMap) -> Markup:
    """The drawing."""
    count, classes = len(pairs.nodes), pairs.classes()
    step = cells_in_one(count)
    rows = worst_of_blocks(classes, step) if step > 1 else classes
    cell = _SIDE / count
    left, top = _margins(pairs)
    parts = [
        *_cells(rows, left, top, cell * step),
        *(_numbers(pairs, classes, left, top) if count <= _WITH_NUMBERS else ()),
        *(_names(pairs, left, top) if count <= _NAMED else _scale(pairs, left, top)),
        *_rings(pairs, left, top, cell),
        *(_hints(pairs, left, top) if count <= _NAMED else ()),
    ]
    text = f"A square of {count} by {count} cells. A darker row and column is a slow node."
    size = (left + _SIDE + 6, top + _SIDE + 6)
    return drawing(pairs.name, size, pairs.title, text, *parts, kind="pairs")


def cells_in_one(count: int) -> int:
    """How many nodes a row of the map stands for."""
    return -(-count // CELLS)


def _margins(pairs: PairMap) -> tuple[float, float]:
    """The space for names or numbers to the left of the square, and above it."""
    if len(pairs.nodes) > _NAMED:
        return 42.0, 22.0
    marks = ("▶ " if i in pairs.bad else "" for i in range(len(pairs.nodes)))
    names = zip(marks, short_names(pairs.nodes), strict=True)
    widest = _LETTER * max(len(mark + name) for mark, name in names) + 8
    return widest, widest


def worst_of_blocks(classes: Sequence[Sequence[int | str]], step: int) -> list[list[int | str]]:
    """A smaller map, each cell of which is the worst of `step` by `step` cells."""
    spans = [slice(i, i + step) for i in range(0, len(classes), step)]
    return [[_worst(c for row in classes[a] for c in row[b]) for b in spans] for a in spans]


def _worst(cells: Iterable[int | str]) -> int | str:
    block = set(cells)
    numbers = [cell for cell in block if isinstance(cell, int)]
    return max(numbers) if numbers else MISSING if MISSING in block else ITSELF


def class_paths(rows: Sequence[Sequence[int | str]]) -> dict[int | str, str]:
    """The path of each class; class 0 has none, since it is what lies below the others."""
    paths: dict[int | str, list[str]] = {}
    for y, row in enumerate(rows):
        ends: dict[int | str, int] = {}
        x = 0
        for kind, run in groupby(row):
            length = sum(1 for _ in run)
            if kind != 0:
                start = f"m{x - ends[kind]} 0" if kind in ends else f"M{x} {y}"
                paths.setdefault(kind, []).append(f"{start}h{length}")
                ends[kind] = x + length
            x += length
    return {kind: "".join(runs) for kind, runs in paths.items()}


def _cells(
    rows: Sequence[Sequence[int | str]], left: float, top: float, cell: float
) -> Iterator[Markup]:
    count = len(rows)
    yield tag("rect", class_="fill0", x=f"{left:g}", y=f"{top:g}", width=_SIDE, height=_SIDE)
    paths = class_paths(rows)
    order = [kind for kind in (MISSING, ITSELF, 1, 2, 3, 4) if kind in paths]
    yield tag(
        "g",
        *(tag("path", class_=f"cells run{kind}", d=paths[kind]) for kind in order),
        transform=f"translate({left:g} {top + cell / 2:.5g}) scale({cell:.6g})",
        class_="crisp" if count <= CELLS // 2 else None,
    )
    if count <= _NAMED:
        lines = "".join(f"M{i} 0v{count}M0 {i}h{count}" for i in range(1, count))
        move = f"translate({left:g} {top:g}) scale({cell:.6g})"
        yield tag("path", class_="grid", d=lines, transform=move)


def _numbers(
    pairs: PairMap, classes: list[list[int | str]], left: float, top: float
) -> Iterator[Markup]:
    cell = _SIDE / len(pairs.nodes)
    for a, row in enumerate(pairs.values):
        for b, value in enumerate(row):
            if value is not None and a != b:
                x, y = left + (b + 0.5) * cell, top + (a + 0.5) * cell + 3
                yield label(number_text(value), x, y, f"number on{classes[a][b]}")


def _names(pairs: PairMap, left: float, top: float) -> Iterator[Markup]:
    cell = _SIDE / len(pairs.nodes)
    for i, name in enumerate(short_names(pairs.nodes)):
        kind, middle = "name", (i + 0.5) * cell + 3
        if i in pairs.bad:
            kind, name = "name bad", f"▶ {name}"
        yield label(name, left - 5, top + middle, kind, text_anchor="end")
        turn = f"rotate(-90 {left + middle:.4g} {top - 5:g})"
        yield label(name, left + middle, top - 5, kind, transform=turn)


def _scale(pairs: PairMap, left: float, top: float) -> Iterator[Markup]:
    """Numbers of nodes, and a triangle at each bad one."""
    count = len(pairs.nodes)
    cell, step = _SIDE / count, next(s for s in (5, 10, 20, 50, 100, 200, 500) if count / s <= 8)
    for i in (0, *range(step - 1, count, step)):
        at = (i + 0.5) * cell
        yield label(f"{i + 1}", left - 12, top + at + 3, "name", text_anchor="end")
        yield label(f"{i + 1}", left + at, top - 11, "name", text_anchor="middle")
    for i in sorted(pairs.bad):
        at = (i + 0.5) * cell
        yield tag("path", class_="mark", d=f"M{left - 1:g} {top + at:.4g}l-8 -4.5v9z")
        yield tag("path", class_="mark", d=f"M{left + at:.4g} {top - 1:g}l-4.5 -8h9z")


def _rings(pairs: PairMap, left: float, top: float, cell: float) -> Iterator[Markup]:
    size = max(cell, _RING)
    for a, b in pairs.pairs[:_RINGS]:
        for row, column in ((a, b), (b, a)):
            x, y = left + (column + 0.5) * cell - size / 2, top + (row + 0.5) * cell - size / 2
            box = {
                "x": f"{x:.5g}",
                "y": f"{y:.5g}",
                "width": f"{size:.4g}",
                "height": f"{size:.4g}",
            }
            yield tag("rect", class_="halo", **box)
            yield tag("rect", class_="ring", **box)


def _hints(pairs: PairMap, left: float, top: float) -> Iterator[Markup]:
    """What a browser shows at the pointer."""
    cell, names = _SIDE / len(pairs.nodes), pairs.nodes
    for a, row in enumerate(pairs.values):
        for b, value in enumerate(row):
            if a != b:
                text = f"{names[a]} – {names[b]}: {number_text(value, pairs.unit)}"
                box = {"x": f"{left + b * cell:.4g}", "y": f"{top + a * cell:.4g}"}
                box |= {"width": f"{cell:.4g}", "height": f"{cell:.4g}"}
                yield tag("rect", tag("title", text), class_="hint", **box)
