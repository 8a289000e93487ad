"""One row a field: from it come the checker, the JSON Schema and the documentation.

A profile's classes are frozen dataclasses whose fields are made with `row(kind, doc, default)`.
A kind reads a YAML node (noting what is wrong with it) and describes itself as JSON Schema; the
two stand side by side so that they cannot drift apart unseen.
"""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from jobgen.errors import Mark, Problem
from jobgen.yamltree import Map, Node, Scalar, Seq, parse

Schema = dict[str, Any]

# Characters that could end a line or confuse a terminal, and bytes that are not UTF-8.
CONTROLS = r"\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff"
MOST_COMPARED = 256  # words with one that is in none of them; difflib takes a while for each
LONGEST_COMPARED = 64  # characters; and it takes the square of them
ONE_LINE = f"[^{CONTROLS}]*"


class Reading:
    """Gathers problems while a tree is read."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    def note(self, mark: Mark, text: str, code: str, hint: str = "") -> None:
        self.problems.append(Problem(mark, text, code, hint))

    def wrong_type(self, node: Node, wanted: str, hint: str = "") -> None:
        self.note(node.mark, f"expected {wanted}, got {described(node)}", "type", hint)


def described(node: Node) -> str:
    """What a node is, in words for a message."""
    if isinstance(node, Map):
        return "a map"
    if isinstance(node, Seq):
        return "a list"
    if isinstance(node.value, str):
        return f"the text `{node.text}`"
    kinds = {bool: "the truth value", int: "the number", float: "the number"}
    return f"{kinds[type(node.value)]} {node.text}" if node.value is not None else "nothing"


def nearest(word: str, words: Iterable[str]) -> str:
    """A hint that names the nearest right word, or else all of them; of very many, the first."""
    return _nearest(word, tuple(sorted(words)))


@lru_cache(256)  # a file may have the same slip in thousands of places
def _nearest(word: str, known: tuple[str, ...]) -> str:
    few = len(known) <= MOST_COMPARED and len(word) <= LONGEST_COMPARED
    if few and (close := difflib.get_close_matches(word, known, n=1, cutoff=0.6)):
        return f"did you mean `{close[0]}`?"
    return f"one of: {', '.join(known[:MOST_COMPARED])}{', …' * (len(known) > MOST_COMPARED)}"


def pattern_schema(pattern: str) -> str:
    """A full match, for regular expressions of both Python and JavaScript (`$` differs)."""
    return rf"^(?:{pattern})(?![\s\S])"


class Kind:
    """What a value may be."""

    literal = False  # the value of `--set` is text, not YAML

    def read(self, node: Node, to: Reading) -> Any:
        raise NotImplementedError

    def schema(self) -> Schema:
        raise NotImplementedError

    def given(self, text: str, mark: Mark) -> Node:
        """The node for `text`, as `--set` gives it. Raises JobgenError if it is not YAML."""
        if self.literal or text in ("null", ""):
            return Scalar(mark, text, None if text == "null" else text)
        return relabelled(parse(text.encode("utf-8", "surrogateescape"), str(mark)), mark)


class Text(Kind):
    """Text in one line that matches `pattern` as a whole; `rule` says the pattern in words.

    It has at most `most` characters: as many as Linux's longest path. With `any_scalar` a number or
    a truth value will do too, taken as it is written.
    """

    literal = True

    def __init__(
        self,
        pattern: str = ONE_LINE,
        rule: str = "text in one line",
        any_scalar: bool = False,
        most: int = 4096,
    ) -> None:
        self.pattern = pattern
        self.rule = rule
        self.any_scalar = any_scalar
        self.most = most

    def read(self, node: Node, to: Reading) -> str | None:
        if not isinstance(node, Scalar):
            to.wrong_type(node, self.rule)
        elif not self.any_scalar and not isinstance(node.value, str):
            to.wrong_type(node, self.rule, f'write "{node.text}", in quotes')
        elif len(node.text) > self.most:
            text = f"{len(node.text)} characters, starting with {node.text[:40]!r}"
            to.note(node.mark, text, "limit", f"at most {self.most}")
        elif not re.fullmatch(self.pattern, node.text):
            to.note(node.mark, f"expected {self.rule}, got {node.text!r:.80}", "value")
        else:
            return node.text
        return None

    def schema(self) -> Schema:
        types = ["string", "number", "boolean"] if self.any_scalar else "string"
        pattern = pattern_schema(self.pattern)
        return {"type": types, "pattern": pattern, "maxLength": self.most}


class Walltime(Kind):
    """A walltime as the scheduler writes it; it stays text (the plan reads it)."""

    literal = True
    pattern = r"[0-9]+(:[0-9]+){0,3}|[0-9]+-[0-9]+(:[0-9]+){0,2}"

    def read(self, node: Node, to: Reading) -> str | None:
        whole = isinstance(node, Scalar) and not isinstance(node.value, bool)
        if whole and re.fullmatch(self.pattern, str(node.value)):  # type: ignore[union-attr]
            return str(node.value)  # type: ignore[union-attr]
        to.wrong_type(node, "a walltime", "write it as 90, 1:30:00 or 2-12:00:00")
        return None

    def schema(self) -> Schema:
        text = {"type": "string", "pattern": pattern_schema(self.pattern)}
        return {"anyOf": [text, {"type": "integer", "minimum": 0}]}


class Int(Kind):
    """A whole number from `low` to `high`."""

    def __init__(self, low: int = 0, high: int | None = None) -> None:
        self.low = low
        self.high = high

    def read(self, node: Node, to: Reading) -> int | None:
        value = node.value if isinstance(node, Scalar) else None
        span = f"at least {self.low}" if self.high is None else f"from {self.low} to {self.high}"
        if isinstance(value, bool) or not isinstance(value, int):
            to.wrong_type(node, "a whole number")
        elif value < self.low or (self.high is not None and value > self.high):
            to.note(node.mark, f"{value} is out of range", "range", f"a whole number {span}")
        else:
            return value
        return None

    def schema(self) -> Schema:
        most = {} if self.high is None else {"maximum": self.high}
        return {"type": "integer", "minimum": self.low, **most}


class Bool(Kind):
    """`true` or `false`."""

    def read(self, node: Node, to: Reading) -> bool | None:
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            return node.value
        to.wrong_type(node, "true or false")
        return None

    def schema(self) -> Schema:
        return {"type": "boolean"}


class Choice(Kind):
    """One of a few words."""

    literal = True

    def __init__(self, *words: str) -> None:
        self.words = words

    def read(self, node: Node, to: Reading) -> str | None:
        if not isinstance(node, Scalar):
            to.wrong_type(node, f"one of: {', '.join(self.words)}")
        elif not isinstance(node.value, str) or node.text not in self.words:
            to.note(
                node.mark, f"unknown value `{node.text}`", "value", nearest(node.text, self.words)
            )
        else:
            return node.text
        return None

    def schema(self) -> Schema:
        return {"enum": list(self.words)}


class ListOf(Kind):
    """A list; with `or_one`, a single item without brackets will do."""

    def __init__(self, item: Kind, or_one: bool = False) -> None:
        self.item = item
        self.or_one = or_one

    def read(self, node: Node, to: Reading) -> tuple[Any, ...]:
        if isinstance(node, Seq):
            return tuple(self.item.read(item, to) for item in node.items)
        if self.or_one and isinstance(node, Scalar):
            return (self.item.read(node, to),)
        to.wrong_type(node, "a list", "write [a, b], or one item a line with `- `")
        return ()

    def schema(self) -> Schema:
        many = {"type": "array", "items": self.item.schema()}
        return {"anyOf": [self.item.schema(), many]} if self.or_one else many

    def given(self, text: str, mark: Mark) -> Node:
        one = self.or_one and not text.startswith("[")
        return self.item.given(text, mark) if one else super().given(text, mark)


class MapOf(Kind):
    """A map from names to values; null takes away what a base had set."""

    def __init__(self, value: Kind, key: Text) -> None:
        self.value = value
        self.key = key

    def read(self, node: Node, to: Reading) -> dict[str, Any]:
        if not isinstance(node, Map):
            to.wrong_type(node, "a map")
            return {}
        found = {}
        for name, child in node.items.items():
            self.key.read(Scalar(node.keys[name], name, name), to)
            if not is_null(child):
                found[name] = self.value.read(child, to)
        return found

    def schema(self) -> Schema:
        values = {pattern_schema(self.key.pattern): or_null(self.value.schema())}
        return {"type": "object", "patternProperties": values, "additionalProperties": False}


class Record(Kind):
    """A dataclass of rows; with `short`, a single value stands for a map of that one key."""

    def __init__(self, cls: type, short: str = "") -> None:
        self.cls = cls
        self.short = short

    def read(self, node: Node, to: Reading) -> Any:
        rows = dict(rows_of(self.cls))
        if self.short and isinstance(node, Scalar):
            node = Map(node.mark, {self.short: node}, {self.short: node.mark})
        if not isinstance(node, Map):
            to.wrong_type(node, "a map", f"its keys: {', '.join(sorted(rows))}")
            return self.cls()
        values = {}
        for name, child in node.items.items():
            if name not in rows:
                hint = nearest(name, rows)
                to.note(node.keys[name], f"unknown key `{name}`", "unknown-key", hint)
            elif not is_null(child):
                values[name] = rows[name].kind.read(child, to)
        return self.cls(**values)

    def schema(self) -> Schema:
        rows = {
            name: {"description": row.doc, **or_null(row.kind.schema())}
            for name, row in rows_of(self.cls)
        }
        whole = {"type": "object", "properties": rows, "additionalProperties": False}
        if not self.short:
            return whole
        one = dict(rows_of(self.cls))[self.short].kind.schema()
        return {"anyOf": [one, whole]}

    def given(self, text: str, mark: Mark) -> Node:
        if self.short and not text.startswith("{"):
            return dict(rows_of(self.cls))[self.short].kind.given(text, mark)
        return super().given(text, mark)


class Row(NamedTuple):
    """What is known of a field: its kind and its documentation."""

    kind: Kind
    doc: str


def row(kind: Kind, doc: str, default: Any = None) -> Any:
    """A field of a profile's dataclass."""
    fresh = {"default_factory": default} if callable(default) else {"default": default}
    return dataclasses.field(metadata={"row": Row(kind, doc)}, **fresh)


def rows_of(cls: type) -> Iterator[tuple[str, Row]]:
    """The rows of a dataclass, in their order."""
    for item in dataclasses.fields(cls):
        yield item.name, item.metadata["row"]


def kind_at(kind: Kind, path: list[str], mark: Mark, to: Reading) -> Kind | None:
    """The kind of the value at `path`; notes the first word that leads nowhere."""
    for number, name in enumerate(path):
        if isinstance(kind, MapOf):
            kind = kind.value
            continue
        rows = dict(rows_of(kind.cls)) if isinstance(kind, Record) else {}
        if name not in rows:
            where = ".".join(path[:number])
            hint = nearest(name, rows) if rows else f"`{where}` has no parts"
            to.note(mark, f"unknown key `{'.'.join(path[: number + 1])}`", "unknown-key", hint)
            return None
        kind = rows[name].kind
    return kind


def is_null(node: Node) -> bool:
    """Null: as if nothing had been said."""
    return isinstance(node, Scalar) and node.value is None


def or_null(schema: Schema) -> Schema:
    """`schema`, or null."""
    return {"anyOf": [schema, {"type": "null"}]}


def relabelled(node: Node, mark: Mark) -> Node:
    """The same tree, every place of it `mark`."""
    if isinstance(node, Map):
        items = {name: relabelled(child, mark) for name, child in node.items.items()}
        return Map(mark, items, dict.fromkeys(items, mark))
    if isinstance(node, Seq):
        return Seq(mark, [relabelled(child, mark) for child in node.items])
    return Scalar(mark, node.text, node.value)


def placed(path: list[str], node: Node, mark: Mark) -> Map:
    """A tree with `node` at `path` and nothing else."""
    for name in reversed(path):
        node = Map(mark, {name: node}, {name: mark})
    assert isinstance(node, Map)
    return node


def merged(base: Node | None, over: Node) -> Node:
    """`over` on `base`: maps merge key by key, everything else replaces."""
    if not (isinstance(base, Map) and isinstance(over, Map)):
        return over
    items = {**base.items, **{k: merged(base.items.get(k), v) for k, v in over.items.items()}}
    return Map(over.mark, items, {**base.keys, **over.keys})


def places(node: Node, path: str = "") -> Iterator[tuple[str, Mark]]:
    """Every path in a tree with the place its value comes from."""
    yield path, node.mark
    if isinstance(node, Map):
        for name, child in node.items.items():
            yield from places(child, f"{path}.{name}" if path else name)
