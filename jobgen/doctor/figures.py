"""The drawings with their titles and legends, in parts of the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from jobgen.doctor.drawing.bars import FEW, BarChart, bar_chart
from jobgen.doctor.drawing.curve import Curve, curve_chart
from jobgen.doctor.drawing.heat_map import MISSING, PairMap, cells_in_one, heat_map
from jobgen.doctor.markup import Markup, joined, section, tag
from jobgen.doctor.numbers import (
    BOUNDS,
    bad_nodes,
    bad_pairs,
    count_text,
    fitness,
    measured,
    middle_of,
    number_text,
)
from jobgen.doctor.results import Measure, Results
from jobgen.doctor.tables import reduce_table

_BLOCKS = " For so many nodes, a cell is the worst of {0} × {0} pairs."
_WIDE = 96  # nodes of which a row of bars needs half the page
_NAMED = 4
_KEY = (
    *("A bar is a node, in the order of the table. ", "──", " median of all nodes; ", "╌╌"),
    *(" beyond this line a value may be bad; ", "▼", " bad by the rule below."),
)


def pair_maps(results: Results) -> list[PairMap]:
    """The map of bandwidths and that of latencies, where pairs were measured."""
    places = {node.name: i for i, node in enumerate(results.nodes)}
    kinds = (
        ("network", "bandwidth", "Bandwidth", "GB/s", True, results.bandwidth),
        ("latency", "latency", "Latency", "µs", False, results.latency),
    )
    return [
        PairMap(
            *(name, title, unit, higher, values, tuple(places)),
            bad=frozenset(places[node] for node in bad_nodes(results, measure)),
            pairs=tuple((places[a], places[b]) for a, b in bad_pairs(results, measure)),
        )
        for measure, name, title, unit, higher, values in kinds
        if values
    ]


def pairs_section(results: Results) -> Markup:
    """Both maps beside each other; two nodes have two numbers instead."""
    maps = pair_maps(results)
    if not maps:
        return Markup()
    if len(results.nodes) == 2:
        figures = tag("dl", *map(_pair_value, maps), class_="facts large")
        return section("The pair of nodes", figures, name="pairs")
    intro = tag(
        "p",
        "Each cell is a pair of nodes: the stronger its colour, the worse it is than the median of"
        " all pairs. A slow node is a row and a column; a frame marks a slow pair.",
        *([_BLOCKS.format(step)] if (step := cells_in_one(len(results.nodes))) > 1 else ()),
        class_="lead",
    )
    return section(
        "Pairs of nodes", intro, tag("div", *map(_map_figure, maps), class_="two"), name="pairs"
    )


def _pair_value(pairs: PairMap) -> Markup:
    value = number_text(pairs.median, pairs.unit)
    return tag("div", tag("dt", pairs.title), tag("dd", value))


def _map_figure(pairs: PairMap) -> Markup:
    middle = f"median {number_text(pairs.median, pairs.unit)}"
    title = tag("figcaption", tag("b", pairs.title), tag("span", middle))
    marks = _marked_names(pairs)
    return tag("figure", title, heat_map(pairs), _legend(pairs), marks, class_="map")


def _marked_names(pairs: PairMap) -> Markup:
    names = [f"▶ {pairs.nodes[i]} (row {i + 1})" for i in sorted(pairs.bad)]
    names += [f"▢ {pairs.nodes[a]} – {pairs.nodes[b]}" for a, b in pairs.pairs]
    more = [f"and {len(names) - _NAMED} more"] if len(names) > _NAMED else []
    return tag("p", ", ".join(names[:_NAMED] + more), class_="marked") if names else Markup()


def _legend(pairs: PairMap) -> Markup:
    """The classes, with the number of pairs in each."""
    classes = pairs.classes()
    counts = Counter(kind for a, row in enumerate(classes) for kind in row[:a])
    kinds = [*range(len(BOUNDS) + 1), *([MISSING] if counts[MISSING] else ())]
    return tag("ul", *(_legend_row(pairs, kind, counts[kind]) for kind in kinds), class_="legend")


def _legend_row(pairs: PairMap, kind: int | str, count: int) -> Markup:
    text = "not measured" if isinstance(kind, str) else class_text(kind, pairs.higher_is_better)
    swatch = tag("i", class_=f"swatch back{kind}", aria_hidden="true")
    return tag("li", swatch, text, " ", tag("small", count_text(count, "pair")))


def class_text(kind: int, higher_is_better: bool) -> str:
    """What a class of values has, in shares of the median."""
    unit = "%" if higher_is_better else "×"
    shares = [f"{100 * b:.0f}" if higher_is_better else f"{1 / b:.3g}" for b in BOUNDS]
    more, less = ("≥", "<") if higher_is_better else ("≤", ">")
    if kind == 0:
        return f"{more} {shares[0]} {unit}"
    if kind == len(BOUNDS):
        return f"{less} {shares[-1]} {unit}"
    ends = (
        (shares[kind], shares[kind - 1]) if higher_is_better else (shares[kind - 1], shares[kind])
    )
    return f"{'–'.join(ends)} {unit}"


def nodes_section(results: Results) -> Markup:
    """A row of bars for each measure."""
    figures = [bar_figure(results, measure) for measure in results.measures]
    if not figures:
        return Markup()
    count = len(results.nodes)
    kind = "bars-few" if count <= FEW else "bars-wide" if count > _WIDE else "bars-some"
    key = tag("p", *_KEY, class_="lead")
    return section("Each node", key, tag("div", *figures, class_=kind), name="nodes")


def bar_figure(results: Results, measure: Measure) -> Markup:
    """The bars of a measure with its title, its median and its bad nodes."""
    values = measured(results, measure)
    middle = middle_of(values)
    bad = bad_nodes(results, measure.name)
    places = [i for i, node in enumerate(results.nodes) if node.name in bad]
    name = f"bars-{results.measures.index(measure)}"
    chart = BarChart(
        *(name, measure.title, measure.unit, values, tuple(node.name for node in results.nodes)),
        *(frozenset(places), middle, _limit(measure, middle)),
    )
    direction = "" if measure.higher_is_better else "lower is better"
    missing = values.count(None)
    facts = [
        f"median {number_text(middle, measure.unit)}",
        *([direction] if direction else ()),
        *([f"{count_text(missing, 'node')} without a value (×)"] if missing else ()),
    ]
    title = tag("figcaption", tag("b", measure.title), tag("span", " · ".join(facts)))
    worst = "; ".join(_share_text(results, measure, i, values[i], middle) for i in places[:_NAMED])
    more = f"; and {len(places) - _NAMED} more" if len(places) > _NAMED else ""
    note = tag("p", worst + more, class_="marked") if worst else Markup()
    return tag("figure", title, bar_chart(chart), note)


def _limit(measure: Measure, middle: float | None) -> float | None:
    """The tolerance's end; a measure without a tolerance has none."""
    if middle is None or not 0 < measure.tolerance < 1:
        return None
    share = 1 - measure.tolerance
    return middle * share if measure.higher_is_better else middle / share


def _share_text(
    results: Results, measure: Measure, node: int, value: float | None, middle: float | None
) -> str:
    name = results.nodes[node].name
    if value is None or not middle:
        return f"▼ {name}"
    share = fitness(value, middle, measure.higher_is_better)
    text = f"{share:.2g}" if measure.higher_is_better else f"{value / middle:.3g} times"
    return f"▼ {name}: {text} {'of ' if measure.higher_is_better else ''}the median"


def reduce_section(results: Results) -> Markup:
    """The curves, and beside them their values."""
    curves = [
        Curve("all nodes", "round", results.all_nodes),
        Curve("within one node, the slowest", "square", results.one_node),
    ]
    if not any(curve.points for curve in curves):
        return Markup()
    key = joined(*_curve_keys(curves), between=" ")
    title = tag("figcaption", tag("b", "Bus bandwidth"), tag("span", key))
    figure = tag("figure", title, curve_chart("all-reduce", curves))
    body = tag("div", figure, reduce_table(results.all_nodes, results.one_node), class_="two")
    return section("All-reduce", body, name="all-reduce-heading")


def _curve_keys(curves: list[Curve]) -> Iterator[Markup]:
    for curve in curves:
        if curve.points:
            sign = "●" if curve.shape == "round" else "■"
            yield tag("span", f"{sign} {curve.title}", class_=f"key {curve.shape}")
