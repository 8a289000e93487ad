"""Reads the results of a `jobgen doctor` job, a JSON file of format 1, into records.

The annotations of a record define the format: a field with a default may be absent or null. Keys
that format 1 does not have are ignored, and a measure that this version of jobgen does not use is
read like any other; a value of a wrong type or out of range is an error.
"""

import json
import os
from collections.abc import Iterable, Mapping
from itertools import count
from types import UnionType
from typing import Any, NamedTuple, NewType, Union, get_args, get_origin

from jobgen.errors import printable, problem

FORMAT = 1
MOST_BYTES = 64_000_000  # the results of 512 nodes have four million bytes
_HINT = "give the .json file that `jobgen doctor` wrote, whole and unchanged"
_CODE = "doctor-results"
_LARGEST = 1e15  # far above any measured value; the product of two such numbers is finite
Signed = NewType("Signed", float)
_LEAST: dict[Any, float] = {int: 1, float: 0, Signed: -_LARGEST}
_UNITS = {"us": "µs"}  # the job writes ASCII
_KINDS = {dict: "a map", list: "a list", str: "text", bool: "true or false", type(None): "null"}
Matrix = tuple[tuple[float | None, ...], ...]  # null for the pairs that were not measured


class Measure(NamedTuple):
    """A quantity that is measured on each node; `name` is its key in the file."""

    title: str
    unit: str
    higher_is_better: bool
    tolerance: float
    name: str = ""

    @property
    def heading(self) -> str:
        """The heading of a column with the values."""
        return f"{self.title}, {self.unit}" if self.unit else self.title


class Node(NamedTuple):
    """A node with its value of each measure; `ranks` has each measure's values by local rank."""

    name: str
    values: Mapping[str, float | None]
    address: str = ""
    clock_offset: Signed | None = None
    ranks: Mapping[str, tuple[float | None, ...]] = {}
    notes: tuple[str, ...] = ()


class Point(NamedTuple):
    """The all-reduce of one message size; `rate` is NCCL's bus bandwidth in GB/s."""

    size: int
    seconds: float
    rate: float


class Finding(NamedTuple):
    """A fault of a node, a pair of nodes or the whole job; `node` is "" for the last two."""

    node: str
    measure: str
    text: str
    pair: tuple[str, str] | None = None


class Judgement(NamedTuple):
    """The job's findings, the nodes to exclude, and the rule by which the job decided both."""

    exclude: tuple[str, ...]
    findings: tuple[Finding, ...]
    rule: str


class Pairs(NamedTuple):
    """Symmetric matrices with a value for each pair of nodes; empty for one node."""

    bandwidth: Matrix
    latency: Matrix


class AllReduces(NamedTuple):
    """The all-reduces of all ranks, and those within the slowest node."""

    all: tuple[Point, ...]
    node: tuple[Point, ...]


class Network(NamedTuple):
    """The transports that NCCL used, the transport that was promised, and the fault, if any."""

    used: tuple[str, ...] = ()
    promised: str = ""
    problem: str = ""


class Comparison(NamedTuple):
    """The changes since an earlier job."""

    job: str
    time: str
    changes: tuple[str, ...]


class Results(NamedTuple):
    """All results of one job."""

    format: int
    job: str
    cluster: str
    time: str
    torch: str
    device: str
    device_name: str
    ranks_per_node: int
    measures: Mapping[str, Measure]
    nodes: tuple[Node, ...]
    pairs: Pairs
    allreduce: AllReduces
    verdict: Judgement
    network: Network = Network()
    compared: Comparison | None = None
    lines: tuple[str, ...] = ()

    def bad_nodes(self, measure: str) -> tuple[int, ...]:
        """The indices of the nodes with a finding about a measure; the findings are the job's."""
        bad = {found.node for found in self.verdict.findings if found.measure == measure}
        return tuple(i for i, node in enumerate(self.nodes) if node.name in bad)


class _Wrong(Exception):
    """The fault of a value; `place` is the path to it from the value that is being read."""

    def __init__(self, text: str, hint: str = _HINT, place: str = "") -> None:
        self.text, self.hint, self.place = text, hint, place


def read_results(path: str) -> Results:
    """The results in a JSON file. Raises JobgenError unless `jobgen doctor` wrote the file."""
    try:
        if os.path.exists(path) and not os.path.isfile(path):  # a pipe would wait for its writer
            raise problem(path, "is not a regular file", "unreadable", _HINT)
        with open(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:  # ValueError: no file has a NUL in its name
        reason = getattr(error, "strerror", str(error))
        raise problem(path, f"cannot be read: {reason}", "unreadable", _HINT) from None
    if len(data) > MOST_BYTES:
        raise problem(path, f"has more than {MOST_BYTES} bytes", _CODE, _HINT)
    try:
        # As int, a number of many digits would take quadratic time, or be refused by Python.
        raw = json.loads(data, parse_int=float)
    except (ValueError, RecursionError) as error:
        text = f"is not JSON that jobgen can read: {error}"
        raise problem(path, text, _CODE, _HINT) from None
    return results_of(raw, path)


def results_of(raw: Any, place: str = "the results") -> Results:
    """The results in a parsed JSON value; a JobgenError names `place` as the value's origin."""
    try:
        if isinstance(raw, dict) and raw.get("format", FORMAT) != FORMAT:
            hint = "use the version of jobgen that wrote the file, or a newer one"
            raise _Wrong(f"this version of jobgen reads format {FORMAT} only", hint, "format")
        found: Results = _value(Results, raw)
        _check_nodes(found)
    except _Wrong as wrong:
        where = f"{wrong.place.lstrip('.')}: " if wrong.place else ""
        raise problem(place, f"{where}{wrong.text}", _CODE, wrong.hint) from None
    return found._replace(measures={each.name: each for each in _measures(found)})


def _check_nodes(found: Results) -> None:
    """Raise _Wrong if there is no node, a matrix has another size, or a node's name is unknown."""
    number, names = len(found.nodes), {node.name for node in found.nodes}
    if not found.nodes:
        raise _Wrong("the list is empty", place="nodes")
    for key, rows in found.pairs._asdict().items():
        for wrong in [each for each in (rows, *rows) if rows and len(each) != number][:1]:
            hint = f"right is {number}, one for each node"
            raise _Wrong(f"has {len(wrong)} values", hint, f"pairs.{key}")
    verdict = found.verdict
    named = [
        *verdict.exclude,
        *(name for f in verdict.findings for name in (f.node, *(f.pair or ()))),
    ]
    for name in named:
        if name and name not in names:
            raise _Wrong(f"`{name}` is none of the nodes", "name nodes as `nodes` does", "verdict")


def _measures(found: Results) -> Iterable[Measure]:
    """The measures that the file describes, then the measures that have only values in the file."""
    for name, measure in found.measures.items():
        yield measure._replace(name=name, unit=_UNITS.get(measure.unit, measure.unit))
    for name in dict.fromkeys(name for node in found.nodes for name in (*node.values, *node.ranks)):
        if name not in found.measures:
            yield Measure(name, "", True, 0.0, name)


def _value(kind: Any, raw: Any) -> Any:
    """A parsed JSON value, checked and converted to the type `kind`. Raises _Wrong."""
    if kind in _LEAST:
        return _number(kind, raw)
    if kind is str:
        # Characters that cannot be seen or encoded are replaced by escapes.
        return printable(_checked({str}, raw, "text").expandtabs())
    if kind is bool:
        return _checked({bool}, raw, "true or false")
    if kind is Point:
        return Point(*_value(tuple[int, float, float], raw))
    origin, inner = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return None if raw is None else _value(inner[0], raw)
    if origin is tuple:
        items = _checked({list}, raw, "a list")
        kinds = [inner[0]] * len(items) if inner[1] is ... else inner
        if len(items) != len(kinds):
            raise _Wrong(f"has {len(items)} values", f"right is {len(kinds)}")
        return tuple(map(_below, count(), kinds, items))
    items = _checked({dict}, raw, "a map")
    if origin is Mapping:
        return {_value(str, key): _below(key, inner[1], each) for key, each in items.items()}
    values = {}
    for name, field in kind.__annotations__.items():
        if items.get(name) is not None or name not in kind._field_defaults:
            if name not in items:
                raise _Wrong(f"has no `{name}`")
            values[name] = _below(name, field, items[name])
    return kind(**values)


def _below(key: str | int, kind: Any, raw: Any) -> Any:
    """As `_value`, for an item of a list or a map; puts its index or key into an error's place."""
    try:
        return _value(kind, raw)
    except _Wrong as wrong:
        wrong.place = (f"[{key}]" if isinstance(key, int) else f".{key}") + wrong.place
        raise


def _checked(types: set[type], raw: Any, expected: str) -> Any:
    if type(raw) not in types:
        raise _Wrong(f"is {_KINDS.get(type(raw)) or f'the number {raw:g}'}, not {expected}")
    return raw


def _number(kind: Any, raw: Any) -> float:
    """A number in the range of its kind. Raises _Wrong for any other value."""
    _checked({int, float}, raw, "a number")
    if not _LEAST[kind] <= raw <= _LARGEST:
        raise _Wrong(f"is the number {raw:g}, not from {_LEAST[kind]:g} to {_LARGEST:g}")
    return int(raw) if kind is int else float(raw)
