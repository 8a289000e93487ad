"""What a `jobgen doctor` job has measured, as records, from its JSON file of format 1.

A key that format 1 lacks is ignored, and a measure that this version of jobgen does not use is read
like any other; a value that format 1 has, but in another form, is an error.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from jobgen.doctor.checked_json import Value, read_json
from jobgen.limits import HOST_CHARACTERS

FORMAT = 1
MOST_NODES = 2_400  # whose pairs take 60 MB
_MOST_MEASURES = 64
_UNITS = {"us": "µs"}  # the job writes ASCII
_TEXTS = ("job", "cluster", "time", "torch", "device", "device_name")
Matrix = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Measure:
    """Something that is measured on each node."""

    name: str
    title: str
    unit: str
    higher_is_better: bool
    tolerance: float

    @property
    def heading(self) -> str:
        """Of a column with its values."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


@dataclass(frozen=True)
class Node:
    """A node, its value of each measure, and those of its ranks by their local rank."""

    name: str
    address: str
    clock_offset: float | None
    values: Mapping[str, float]
    ranks: Mapping[str, tuple[float | None, ...]]
    notes: tuple[str, ...]


class Point(NamedTuple):
    """All-reduces of one size; `rate` is NCCL's bus bandwidth in GB/s."""

    size: int
    seconds: float
    rate: float


@dataclass(frozen=True)
class Finding:
    """What is bad, of a node or of a pair of nodes (`node` is "" then) or of the whole job."""

    node: str
    pair: tuple[str, str] | None
    measure: str
    value: float | None
    median: float | None
    text: str


class Network(NamedTuple):
    """What carried NCCL's data, what the job promises, and what is wrong with that."""

    used: tuple[str, ...]
    promised: str
    problem: str


@dataclass(frozen=True)
class Comparison:
    """What changed since an earlier job."""

    job: str
    time: str
    changes: tuple[str, ...]


@dataclass(frozen=True)
class Results:
    """All of one job."""

    job: str
    cluster: str
    time: str
    torch: str
    device: str
    device_name: str
    ranks_per_node: int
    network: Network
    measures: tuple[Measure, ...]
    nodes: tuple[Node, ...]
    bandwidth: Matrix
    latency: Matrix
    all_nodes: tuple[Point, ...]
    one_node: tuple[Point, ...]
    exclude: tuple[str, ...]
    findings: tuple[Finding, ...]
    rule: str
    compared: Comparison | None
    lines: tuple[str, ...]

    def bad_nodes(self, measure: str) -> tuple[int, ...]:
        """The places of the nodes that have a finding about a measure: the job decided."""
        bad = {found.node for found in self.findings if found.measure == measure}
        return tuple(i for i, node in enumerate(self.nodes) if node.name in bad)


def read_results(path: str) -> Results:
    """The results in a JSON file; JobgenError where it is not one that `jobgen doctor` wrote."""
    return _results(read_json(path))


def results_of(raw: Any, place: str = "the results") -> Results:
    """The same for a value that JSON has already been made into."""
    return _results(Value(place, "", raw))


def _results(whole: Value) -> Results:
    if (form := whole.field("format")).raw != FORMAT or isinstance(form.raw, bool):
        hint = "use the version of jobgen that wrote the file, or a newer one"
        raise form.wrong(f"this version of jobgen reads format {FORMAT} only", hint)
    nodes = _nodes(whole.field("nodes"))
    names = {node.name for node in nodes}
    verdict, pairs = whole.field("verdict"), whole.field("pairs")
    compared, reduced = whole.optional("compared"), whole.field("allreduce")
    network = whole.optional("network", {})
    return Results(
        **{name: whole.field(name).text() for name in _TEXTS},
        ranks_per_node=int(whole.field("ranks_per_node").number(least=1)),
        network=Network(
            _texts(network.optional("used", [])),
            *(network.optional(key, "").text() for key in ("promised", "problem")),
        ),
        measures=_measures(whole.field("measures"), nodes),
        nodes=nodes,
        bandwidth=_matrix(pairs.field("bandwidth"), len(nodes)),
        latency=_matrix(pairs.field("latency"), len(nodes)),
        all_nodes=_points(reduced.field("all")),
        one_node=_points(reduced.field("node")),
        exclude=tuple(_name_of(value, names) for value in verdict.field("exclude").items()),
        findings=tuple(_finding(value, names) for value in verdict.field("findings").items()),
        rule=verdict.field("rule").text(),
        compared=None if compared.raw is None else _comparison(compared),
        lines=_texts(whole.optional("lines", [])),
    )


def _texts(values: Value) -> tuple[str, ...]:
    return tuple(value.text() for value in values.items())


def _measures(table: Value, nodes: tuple[Node, ...]) -> tuple[Measure, ...]:
    """The measures that the file describes, then those of which it has only values."""
    measures = [
        Measure(
            name,
            value.field("title").text(),
            _UNITS.get(unit := value.field("unit").text(), unit),
            value.field("higher_is_better").flag(),
            value.field("tolerance").number(),
        )
        for name, value in table.fields()
    ]
    names = dict.fromkeys(name for node in nodes for name in (*node.values, *node.ranks))
    described = {measure.name for measure in measures}
    measures += [Measure(name, name, "", True, 0.0) for name in names if name not in described]
    if len(measures) > _MOST_MEASURES:
        raise table.wrong(f"there are more than {_MOST_MEASURES} measures")
    return tuple(measures)


def _nodes(values: Value) -> tuple[Node, ...]:
    items = values.items(MOST_NODES)
    if not items:
        raise values.wrong("the list is empty")
    nodes: dict[str, Node] = {}
    for item in items:
        node = _node(item)
        if node.name in nodes:
            raise item.wrong(f"a second node `{node.name}`", "each node has a name of its own")
        nodes[node.name] = node
    return tuple(nodes.values())


def _node(value: Value) -> Node:
    name = value.field("name")
    if not name.text(HOST_CHARACTERS):
        raise name.wrong("the name is empty")
    return Node(
        name.text(HOST_CHARACTERS),
        value.optional("address", "").text(HOST_CHARACTERS),
        value.optional("clock_offset").number_or_none(least=-1e15),
        {key: v.number() for key, v in value.field("values").fields() if v.raw is not None},
        {key: _numbers(v.items()) for key, v in value.optional("ranks", {}).fields()},
        _texts(value.optional("notes", [])),
    )


def _numbers(values: list[Value]) -> tuple[float | None, ...]:
    return tuple(value.number_or_none() for value in values)


def _matrix(rows: Value, count: int) -> Matrix:
    """Symmetric, with null for the pairs that were not measured; empty for one node."""
    if rows.raw == []:
        return ()
    matrix = tuple(_numbers(_exactly(row, count)) for row in _exactly(rows, count))
    for a in range(count):
        for b in range(a):
            if matrix[a][b] != matrix[b][a]:
                text = f"[{a}][{b}] is {matrix[a][b]}, but [{b}][{a}] is {matrix[b][a]}"
                raise rows.wrong(text, "a pair has one value, in both places")
    return matrix


def _exactly(values: Value, count: int) -> list[Value]:
    if len(items := values.items()) != count:
        raise values.wrong(f"has {len(items)} values", f"right is {count}, one for each node")
    return items


def _points(values: Value) -> tuple[Point, ...]:
    """In the order of their sizes."""
    return tuple(sorted(_point(value) for value in values.items()))


def _point(value: Value) -> Point:
    row = value.items()
    if len(row) != 3:
        raise value.wrong(f"has {len(row)} values", "right are three: bytes, seconds, GB/s")
    return Point(int(row[0].number(least=1)), row[1].number(), row[2].number())


def _name_of(value: Value, names: set[str]) -> str:
    name = value.text(HOST_CHARACTERS)
    if name not in names:
        raise value.wrong(f"`{name}` is none of the nodes", "name nodes as `nodes` does")
    return name


def _finding(value: Value, names: set[str]) -> Finding:
    node = value.field("node")
    return Finding(
        node=_name_of(node, names) if node.raw != "" else "",
        pair=_pair(value.optional("pair"), names),
        measure=value.field("measure").text(),
        value=value.optional("value").number_or_none(),
        median=value.optional("median").number_or_none(),
        text=value.field("text").text(),
    )


def _pair(pair: Value, names: set[str]) -> tuple[str, str] | None:
    if pair.raw is None:
        return None
    ends = [_name_of(end, names) for end in pair.items()]
    if len(ends) != 2:
        raise pair.wrong(f"has {len(ends)} nodes", "a pair has two")
    return ends[0], ends[1]


def _comparison(value: Value) -> Comparison:
    changes = _texts(value.field("changes"))
    return Comparison(value.field("job").text(), value.field("time").text(), changes)
