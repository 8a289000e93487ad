"""Reads YAML as a tree of nodes that know their places, and refuses the traps of YAML.

Plain scalars are read as in YAML 1.2's core schema: `no` and `12:30:00` are text (YAML 1.1 reads
False and 45000). Duplicate keys, aliases, tags and several documents are errors.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import yaml

from jobgen.bounds import MESSAGE_CHARACTERS, YAML_BYTES, YAML_DEPTH
from jobgen.errors import JobgenError, Mark, Problem, problem

Value = str | int | float | bool | None

# Characters that YAML 1.2 (5.1) refuses; checked here, as libyaml gives places in bytes. YAML 1.1's
# line ends (U+0085, U+2028, U+2029) are refused, too: PyYAML makes blanks of them within a value.
_NOT_YAML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufffe\uffff]")
# A line whose colon has no blank after it, or has another sign in its place.
_SEPARATOR = re.compile(r"\s*(?:- )?([A-Za-z_]\w*)(?::(?=[^\s:/\\])|\s*=\s*|$)(.*)")
# Words of the parser's messages, each with a hint.
_HINTS = {
    "expected ',' or": "close the bracket that is open before it",
    "unexpected end of stream": "close the quote that is open before it",
    "<document start>": "all keys of the top level begin in the first column",
    "expected key": "the keys of a group begin in one column; quotes are around a whole value",
    "mapping values": "the keys of a group begin in one column, below a line that ends with `:`",
    "---": "use one file each; in a manifest, put the jobs below the first `jobs:`",
    "{{ }}": 'nobody fills in {{ }}: write the value, or, in a manifest, "{NAME}" in quotes',
    "'-' indicator": "a list has `- ` before each item, and no keys",
}
_PLAIN = r"(?:--?(?=\w))?[\w./$~+][\w./$~+@=:-]*(?<!:)"
_INT = re.compile(r"[-+]?[0-9]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+\.[0-9]*)([eE][-+]?[0-9]+)?")
_WORDS: dict[str, Value] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}


class Scalar(NamedTuple):
    """A leaf: `text` is as written, quotes and escapes resolved; `value` has the scalar's type."""

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


def unquoted(text: str) -> Value:
    """The value of a text without quotes, by YAML 1.2's core schema; octal and hex stay text."""
    if text in _WORDS:
        return _WORDS[text]
    if _INT.fullmatch(text) and len(text) < 20:
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


def parse(data: bytes, file: str) -> Node:
    """Returns the tree of a YAML document; an empty document is an empty map.

    Raises JobgenError with every problem found, each at file:line:column.
    """
    if len(data) > YAML_BYTES:
        text = f"the file has {len(data)} bytes, more than {YAML_BYTES}"
        raise problem(file, text, "size", "is this a profile?")
    text = data.decode("utf-8", "surrogateescape")
    if found := _NOT_YAML.search(text):
        line = text.count("\n", 0, found.start()) + 1
        mark = Mark(file, line, found.start() - text.rfind("\n", 0, found.start()))
        if "\ud800" <= found[0] <= "\udfff":
            raise problem(mark, "not UTF-8 text", "encoding", "save it as UTF-8")
        raise problem(mark, f"the control character {found[0]!a}", "yaml")
    if re.match(r"#!.*sh\b", text):
        hint = f"a script: `jobgen lint {file}`; one of jobgen's: `jobgen check --fix {file}`"
        raise problem(Mark(file, 1, 1), "not a profile or a manifest, which are YAML", "yaml", hint)
    return _Builder(text, file).build()


class _Builder:
    """Builds the tree from the parser's events and gathers the problems on the way."""

    def __init__(self, text: str, file: str) -> None:
        self.text = text
        self.file = file
        self.events = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self.problems: list[Problem] = []
        self.anchors: dict[str, str] = {}  # the value of an alias; the keys of `<<: ` and an alias

    def build(self) -> Node:
        tree: Node | None = None
        try:
            for event in self.events:
                if tree is not None and isinstance(event, yaml.DocumentStartEvent):
                    self._note(event.start_mark, "a second document", "yaml", _HINTS["---"])
                    break
                if isinstance(event, yaml.DocumentStartEvent):
                    tree = self._node(next(self.events), 0)
        except yaml.MarkedYAMLError as error:
            self._note(error.problem_mark, *_explained(self.text, error))
        if self.problems:
            raise JobgenError(self.problems)
        if tree is None or (isinstance(tree, Scalar) and tree.text == ""):
            return Map(Mark(self.file, 1, 1), {}, {})
        return tree

    def _node(self, event: Any, depth: int, key: str = "") -> Node:
        mark = self._mark(event.start_mark)
        if depth > YAML_DEPTH:
            raise problem(mark, f"nested more than {YAML_DEPTH} deep", "yaml")
        if isinstance(event, yaml.AliasEvent):
            merge_key = "<<: " if key == "<<" else ""
            value = self.anchors.get(f"{merge_key}{event.anchor}") or "its value"
            hint = f"write {value} in the place of `{merge_key}*{event.anchor}`"
            self._note(event.start_mark, "an alias", "yaml", hint)
            return Scalar(mark, "", None)
        if event.tag:
            self._note(event.start_mark, f"the tag {event.tag}", "yaml", "a profile has no tags")
        node: Node = Scalar(mark, getattr(event, "value", ""), getattr(event, "value", ""))
        if isinstance(event, yaml.SequenceStartEvent):
            items = self._until(yaml.SequenceEndEvent)
            node = Seq(mark, [self._node(each, depth + 1) for each in items])
        elif isinstance(event, yaml.MappingStartEvent):
            node = self._map(mark, depth)
        elif event.implicit[0]:
            node = Scalar(mark, event.value, unquoted(event.value))
        if event.anchor:
            self._anchor(event, node)
        return node

    def _anchor(self, event: Any, node: Node) -> None:
        text = as_flow(node)
        if len(text) <= MESSAGE_CHARACTERS and '""' not in text:
            items = node.items.items() if isinstance(node, Map) else ()
            keys = ", ".join(f"`{name}: {as_flow(each)}`" for name, each in items)
            self.anchors |= {event.anchor: f"`{text}`", f"<<: {event.anchor}": keys}
        hint = f"leave out `&{event.anchor}`, and a key that is there for its copies alone"
        self._note(event.start_mark, "an anchor", "yaml", hint)

    def _until(self, end: type) -> Iterator[Any]:
        while not isinstance(event := next(self.events), end):
            yield event

    def _map(self, mark: Mark, depth: int) -> Map:
        found = Map(mark, {}, {})
        for event in self._until(yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            value = self._node(next(self.events), depth + 1, getattr(key, "text", ""))
            if not isinstance(key, Scalar):
                self._note(event.start_mark, "a key that is not text", "yaml", _HINTS["{{ }}"])
            elif key.text in found.items:
                hint = f"the first is in line {found.keys[key.text].line}"
                hint += ": put these keys into it" * isinstance(value, Map)
                self._note(event.start_mark, f"duplicate key `{key.text}`", "duplicate", hint)
            else:
                found.items[key.text], found.keys[key.text] = value, key.mark
        return found

    def _mark(self, mark: Any) -> Mark:
        return Mark(self.file, mark.line + 1, mark.column + 1)

    def _note(self, mark: Any, text: str, code: str, hint: str = "") -> None:
        self.problems.append(Problem(self._mark(mark), text, code, hint))


def _explained(text: str, error: yaml.MarkedYAMLError) -> tuple[str, str, str]:
    """Returns a message about text that the parser cannot read, its code, and a hint."""
    mark: Any = error.problem_mark
    message, column = str(error.problem), mark.column
    before = re.split("\r\n|\r|\n", text)[: mark.line + 1]
    line = before[-1]
    character = line[column : column + 1]
    hint = next((right for words, right in _HINTS.items() if words in message), "")
    key, _, value = line.strip().partition(": ")
    if character == "\t":
        message, hint = "a tab", "YAML indents with blanks alone"
    elif "cannot start any token" in message:
        message = f"a value cannot begin with {character}"
        inside = re.search(r"[{\[]", line[:column])
        value = re.split(r"[,\]}]" if inside else "$", line[column:])[0]
        hint = f'write it in quotes: "{value.strip()}"'
    elif place := re.search(r"(?<=: )[^\s\"',{]+\{[^\s{},]+\}[^\s,\"}]*", line):
        plain = re.sub(r"\$\{(?:oc\.)?(?:env:)?([A-Z_]+)[^}]*\}", r"$\1", place[0])
        hint = f"write {plain}" if "{" not in plain else f'write it in quotes: "{plain}"'
    elif ": " in value and value[:1] not in "{[" and "mapping values" in message:
        message, hint = "a second `: ` in the line", f'write {key}: "{value}", in quotes'
    elif found := next(filter(None, map(_SEPARATOR.fullmatch, reversed(before))), None):
        hint = f"write `{f'{found[1]}: {found[2]}'.strip()}` for `{found[0].strip()}`"
    return message, "yaml", hint


def is_null(node: Node) -> bool:
    """Whether a node is null, which means that the value is not given."""
    return isinstance(node, Scalar) and node.value is None


def with_marks(node: Node, mark_at: Callable[[str], Mark], path: str = "") -> Node:
    """Returns the same tree with other places: `mark_at` gives the place of each path."""
    mark = mark_at(path)
    if isinstance(node, Map):
        paths = {name: f"{path}.{name}" if path else name for name in node.items}
        items = {name: with_marks(node.items[name], mark_at, paths[name]) for name in paths}
        return Map(mark, items, {name: mark_at(paths[name]) for name in paths})
    if isinstance(node, Seq):
        numbered = enumerate(node.items)
        return Seq(mark, [with_marks(item, mark_at, f"{path}[{n}]") for n, item in numbered])
    return Scalar(mark, node.text, node.value)


def tree_at(path: list[str], node: Node, mark: Mark) -> Map:
    """Returns a tree that has only `node`, at `path`."""
    for name in reversed(path):
        node = Map(mark, {name: node}, {name: mark})
    assert isinstance(node, Map)
    return node


def merge(base: Node | None, over: Node, with_lists: bool = False) -> Node:
    """Merges `over` into `base`: maps by key, lists if `with_lists`; other values are replaced."""
    if with_lists and isinstance(base, Seq) and isinstance(over, Seq):
        return Seq(over.mark, [*base.items, *over.items])
    if not (isinstance(base, Map) and isinstance(over, Map)):
        return over
    own = {key: merge(base.items.get(key), each, with_lists) for key, each in over.items.items()}
    return Map(over.mark, {**base.items, **own}, {**base.keys, **over.keys})


def at(node: Node | None, path: str) -> Node | None:
    """Returns the node at a path of keys, or None."""
    for name in path.split("."):
        node = node.items.get(name) if isinstance(node, Map) else None
    return node


def marks_by_path(node: Node, path: str = "") -> dict[str, Mark]:
    """The place of every value in a tree, by its path."""
    marks = {path: node.mark}
    if isinstance(node, Map):
        for name, child in node.items.items():
            marks |= marks_by_path(child, f"{path}.{name}" if path else name)
    return marks


def plain_value(node: Node) -> Any:
    """The values of a tree without their places; keys are sorted."""
    if isinstance(node, Map):
        return {name: plain_value(child) for name, child in sorted(node.items.items())}
    if isinstance(node, Seq):
        return [plain_value(child) for child in node.items]
    return node.value


def as_flow(node: Node) -> str:
    """A node as YAML on one line."""
    if isinstance(node, Map):
        return f"{{{', '.join(f'{name}: {as_flow(each)}' for name, each in node.items.items())}}}"
    if isinstance(node, Seq):
        return f"[{', '.join(map(as_flow, node.items))}]"
    is_plain = re.fullmatch(_PLAIN, node.text) and unquoted(node.text) == node.value
    return node.text if is_plain else json.dumps(node.text, ensure_ascii=False)


def as_yaml(path: str, value: str) -> str:
    """Returns the YAML of the value at a path of a profile, on one line."""
    return f"{path.replace('.', ': {')}: {value}{'}' * path.count('.')}"
