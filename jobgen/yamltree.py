"""YAML as a tree of nodes that know their places; stricter than YAML where YAML is a trap.

Plain scalars mean what they mean in YAML 1.2's core schema: `no` and `12:30:00` are text (YAML 1.1
reads False and 45000). Duplicate keys, aliases, tags and several documents are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from jobgen.errors import JobgenError, Mark, Problem

Value = str | int | float | bool | None

LARGEST_FILE = 1 << 20  # bytes; a profile has a few hundred lines
DEEPEST = 32

# YAML 1.2, 5.1; checked here since libyaml counts bytes in what it says of it. The line ends of
# YAML 1.1 (U+0085, U+2028, U+2029) are none here: PyYAML makes blanks of them within a value.
_NOT_YAML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Scalar(NamedTuple):
    """A leaf: `text` as written (quotes and escapes resolved), `value` as its kind of scalar."""

    mark: Mark
    text: str
    value: Value


class Seq(NamedTuple):
    """A list of nodes."""

    mark: Mark
    items: list[Node]


class Map(NamedTuple):
    """A map; `keys` holds the place of each key."""

    mark: Mark
    items: dict[str, Node]
    keys: dict[str, Mark]


Node = Scalar | Seq | Map


def scalar(text: str, mark: Mark) -> Scalar:
    """A plain scalar, its value as YAML 1.2's core schema reads it (octal and hex stay text)."""
    value: Value = text
    if text in _WORDS:
        value = _WORDS[text]
    elif _INT.fullmatch(text) and len(text) < 20:
        value = int(text)
    elif _FLOAT.fullmatch(text):
        value = float(text)
    return Scalar(mark, text, value)


def parse(data: bytes, file: str) -> Node:
    """The tree of a YAML document; an empty one is an empty map.

    Raises JobgenError with every problem found, each at file:line:column.
    """
    if len(data) > LARGEST_FILE:
        text = f"the file has {len(data)} bytes, more than {LARGEST_FILE}"
        raise JobgenError([Problem(Mark(file), text, "size", "is this a profile?")])
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        what = Problem(Mark(file, line, column), "not UTF-8 text", "encoding", "save it as UTF-8")
        raise JobgenError([what]) from None
    if found := _NOT_YAML.search(text):
        line, column = (
            text.count("\n", 0, found.start()) + 1,
            found.start() - text.rfind("\n", 0, found.start()),
        )
        what = Problem(Mark(file, line, column), f"the control character {found[0]!a}", "yaml")
        raise JobgenError([what])
    return _Builder(file).build(text)


class _Builder:
    """Builds the tree from the parser's events and gathers the problems on the way."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def build(self, text: str) -> Node:
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        try:
            events = yaml.parse(text, Loader=loader)
            tree = self._document(events)
        except yaml.MarkedYAMLError as error:
            self._note(error.problem_mark, error.problem or "not YAML", "yaml")
        if self.problems:
            raise JobgenError(self.problems)
        return tree

    def _document(self, events: Iterator[Any]) -> Node:
        tree: Node | None = None
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                if tree is not None:
                    self._note(event.start_mark, "a second document", "yaml", "use one file each")
                    break
                tree = self._node(next(events), events, 0)
        if tree is None or (isinstance(tree, Scalar) and tree.text == ""):
            return Map(Mark(self.file, 1, 1), {}, {})
        return tree

    def _node(self, event: Any, events: Iterator[Any], depth: int) -> Node:
        mark = self._mark(event.start_mark)
        if depth > DEEPEST:
            raise JobgenError([Problem(mark, f"nested more than {DEEPEST} deep", "yaml")])
        if isinstance(event, yaml.AliasEvent):
            self._note(event.start_mark, "an alias", "yaml", "write the value, or use `extends:`")
            return Scalar(mark, "", None)
        if event.anchor:
            self._note(event.start_mark, "an anchor", "yaml", "write the value, or use `extends:`")
        if event.tag:
            self._note(event.start_mark, f"the tag {event.tag}", "yaml", "a profile has no tags")
        if isinstance(event, yaml.ScalarEvent):
            plain = event.implicit[0]
            return scalar(event.value, mark) if plain else Scalar(mark, event.value, event.value)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._seq(mark, events, depth)
        return self._map(mark, events, depth)

    def _seq(self, mark: Mark, events: Iterator[Any], depth: int) -> Seq:
        seq = Seq(mark, [])
        while not isinstance(event := next(events), yaml.SequenceEndEvent):
            seq.items.append(self._node(event, events, depth + 1))
        return seq

    def _map(self, mark: Mark, events: Iterator[Any], depth: int) -> Map:
        found = Map(mark, {}, {})
        while not isinstance(event := next(events), yaml.MappingEndEvent):
            key = self._node(event, events, depth + 1)
            value = self._node(next(events), events, depth + 1)
            if not isinstance(key, Scalar):
                self._note(event.start_mark, "a key that is not text", "yaml")
            elif key.text in found.items:
                first = found.keys[key.text]
                text = f"duplicate key `{key.text}`"
                self._note(
                    event.start_mark, text, "duplicate", f"the first is in line {first.line}"
                )
            else:
                found.items[key.text], found.keys[key.text] = value, key.mark
        return found

    def _mark(self, mark: Any) -> Mark:
        return Mark(self.file, mark.line + 1, mark.column + 1)

    def _note(self, mark: Any, text: str, code: str, hint: str = "") -> None:
        where = self._mark(mark) if mark else Mark(self.file)
        self.problems.append(Problem(where, text, code, hint))
