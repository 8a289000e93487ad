"""All numbers of the page as tables, for those who cannot see the drawings or want the values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from jobgen.doctor.markup import Markup, joined, tag
from jobgen.doctor.numbers import (
    BOUNDS,
    NO_VALUE,
    bytes_text,
    count_text,
    fitness,
    middle_of,
    number_text,
    seconds_text,
)
from jobgen.doctor.results import Matrix, Point, Results

_WHOLE_MATRIX = 16  # nodes; of more, a row has the best and the worst pair only
_SLOW_PAIRS = 200
_MARK = "▶"
_RANKS = "local rank 0, 1, …"
_WORDS = {"note", "notes", "measure", "with", "unit", _RANKS}  # columns of words

Cell = str | Markup


def table(caption: str, head: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Markup:
    """A table in a box that scrolls by itself; the first cell of a row is its heading."""
    kinds = ["words" if title in _WORDS else None for title in head]
    titles = (
        tag("th", title, scope="col", class_=kind) for title, kind in zip(head, kinds, strict=True)
    )
    body = (tag("tr", tag("th", row[0], scope="row"), *_cells(row[1:], kinds[1:])) for row in rows)
    whole = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *titles)),
        tag("tbody", *body),
    )
    return tag("div", whole, class_="scroll", tabindex="0", role="region", aria_label=caption)


def _cells(cells: Sequence[Cell], kinds: Sequence[str | None]) -> Iterator[Markup]:
    for cell, kind in zip(cells, kinds, strict=True):
        yield tag("td", cell, class_=kind)


def marked(text: str, is_bad: bool) -> Cell:
    """A value with a mark where there is a finding about it."""
    return tag("strong", f"{_MARK} {text}") if is_bad else text


def nodes_table(results: Results) -> Markup:
    """A row for each node with all its values."""
    measures = results.measures
    bad = {(found.node, found.measure) for found in results.findings}
    titles = [f"{m.title}, {m.unit}" if m.unit else m.title for m in measures]
    head = ["node", "address", *titles, "clock, s", "notes"]
    rows = (
        [
            marked(node.name, node.name in results.exclude),
            node.address or NO_VALUE,
            *(
                marked(number_text(node.values.get(m.name)), (node.name, m.name) in bad)
                for m in measures
            ),
            number_text(node.clock_offset),
            "; ".join(node.notes) or NO_VALUE,
        ]
        for node in results.nodes
    )
    return table(f"The values of each node; {_MARK} marks what is bad", head, rows)


def ranks_table(results: Results) -> Markup:
    """The values of each rank, in the order of the local ranks."""
    rows = [
        [node.name, m.title, ", ".join(map(number_text, node.ranks[m.name])), m.unit or NO_VALUE]
        for node in results.nodes
        for m in results.measures
        if node.ranks.get(m.name)
    ]
    head = ["node", "measure", _RANKS, "unit"]
    return table("The values of each rank", head, rows) if rows else Markup()


def pair_tables(
    results: Results, values: Matrix, title: str, unit: str, higher_is_better: bool
) -> Markup:
    """All pairs of a few nodes; of many nodes a row for each, and the worst pairs."""
    caption = f"{title} of each pair, {unit}"
    names = [node.name for node in results.nodes]
    if len(names) <= _WHOLE_MATRIX:
        rows = ([name, *map(number_text, row)] for name, row in zip(names, values, strict=True))
        return table(caption, ["", *names], rows)
    head = ["node", "median", "best", "with", "worst", "with"]
    each = (_summary(names, i, row, higher_is_better) for i, row in enumerate(values))
    return joined(
        table(f"{title} of the pairs of each node, {unit}", head, each),
        _slow_pairs(names, values, title, unit, higher_is_better),
    )


def _summary(
    names: Sequence[str], node: int, row: Sequence[float | None], higher_is_better: bool
) -> list[str]:
    pairs = [(value, names[b]) for b, value in enumerate(row) if value is not None and b != node]
    if not pairs:
        return [names[node], *[NO_VALUE] * 5]
    (low, at_low), (high, at_high) = min(pairs), max(pairs)
    ends = [number_text(high), at_high, number_text(low), at_low]
    ends = ends if higher_is_better else [*ends[2:], *ends[:2]]
    return [names[node], number_text(middle_of(value for value, _ in pairs)), *ends]


def _slow_pairs(
    names: Sequence[str], values: Matrix, title: str, unit: str, higher_is_better: bool
) -> Markup:
    middle = middle_of(value for a, row in enumerate(values) for value in row[:a]) or 0.0
    shares = (
        (fitness(value, middle, higher_is_better), a, b, value)
        for a, row in enumerate(values)
        for b, value in enumerate(row[:a])
        if value is not None
    )
    slow = sorted(found for found in shares if found[0] < BOUNDS[1])
    if not slow:
        return tag("p", f"{title}: no pair is worse than {BOUNDS[1]:.0%} of the median.")
    shown = f", the worst {_SLOW_PAIRS} of them" if len(slow) > _SLOW_PAIRS else ""
    caption = f"{title}: {count_text(len(slow), 'pair')} below {BOUNDS[1]:.0%} of the median{shown}"
    head = ["node", "with", f"{title.lower()}, {unit}", "of the median"]
    rows = (
        [names[b], names[a], number_text(value), f"{share:.0%}"]
        for share, a, b, value in slow[:_SLOW_PAIRS]
    )
    return table(caption, head, rows)


def reduce_table(all_nodes: Sequence[Point], one_node: Sequence[Point]) -> Markup:
    """The all-reduces of each size: of all nodes, and within the slowest node."""
    whole, inside = ({point.size: point for point in points} for points in (all_nodes, one_node))
    head = ["size", "all nodes", "GB/s", *(["one node", "GB/s"] if one_node else ())]
    rows = (
        [bytes_text(size), *_times(whole.get(size)), *(_times(inside.get(size)) if inside else ())]
        for size in sorted({*whole, *inside})
    )
    return table("Time and bus bandwidth of an all-reduce", head, rows)


def _times(point: Point | None) -> Iterator[str]:
    yield seconds_text(point.seconds) if point else NO_VALUE
    yield number_text(point.rate) if point else NO_VALUE
