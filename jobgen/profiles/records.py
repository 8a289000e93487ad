"""Kinds of lists, maps and records; a record's rows give its checker, its schema and its docs.

The classes of a profile are `@record`s: named tuples whose fields are declared by
`row(kind, doc, default)`. A dataclass takes four times as long to make.
"""

from collections import namedtuple
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple, TypeVar

from jobgen.bounds import PROBLEMS_SHOWN
from jobgen.errors import Mark, nearest_hint
from jobgen.profiles.kinds import NODE, NODE_VARIABLE, Kind, ProblemList, Schema, Text
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, is_null, tree_at, unquoted


class ListOf(Kind):
    """A list; with `or_one`, also a single item without brackets."""

    def __init__(self, item: Kind, or_one: bool = False) -> None:
        self.item = item
        self.or_one = or_one

    def read(self, node: Node, problems: ProblemList) -> tuple[Any, ...]:
        if isinstance(node, Seq):
            return tuple(self.item.read(item, problems) for item in node.items)
        if self.or_one and isinstance(node, Scalar):
            return (self.item.read(node, problems),)
        problems.wrong_type(node, "a list", _shape_hint(node))
        return ()

    def schema(self) -> Schema:
        item = self.item.schema()
        if not self.or_one:
            return {"type": "array", "items": item, "errorMessage": "expected a list, as [a, b]"}
        return {**item, "type": [*_types(item), "array"], "items": item}

    def in_words(self) -> str:
        return f"a list: {self.item.in_words()}" + (", or one" if self.or_one else "")

    def parse_option(self, text: str, mark: Mark) -> Node:
        one = self.or_one and not text.startswith("[")
        return self.item.parse_option(text, mark) if one else super().parse_option(text, mark)


class MapOf(Kind):
    """A map from names to values; null removes the value of a base."""

    def __init__(self, value: Kind, key: Text) -> None:
        self.value = value
        self.key = key

    def read(self, node: Node, problems: ProblemList) -> dict[str, Any]:
        if not isinstance(node, Map):
            problems.wrong_type(node, "a map")
            return {}
        found = {}
        for name, child in node.items.items():
            self.key.read(Scalar(node.keys[name], name, name), problems)
            if not is_null(child):
                found[name] = self.value.read(child, problems)
        return found

    def schema(self) -> Schema:
        return {
            "type": "object",
            "propertyNames": self.key.schema(),
            "additionalProperties": or_null(self.value.schema()),
            "errorMessage": "expected a map",
        }

    def in_words(self) -> str:
        return f"a map to {self.value.in_words()}"


class Record(Kind):
    """A record, read from a map; with `short`, a single value stands for a map with this key."""

    def __init__(self, cls: type, short: str = "") -> None:
        self.cls = cls
        self.short = short

    def read(self, node: Node, problems: ProblemList) -> Any:
        rows = _ROWS[self.cls]
        if self.short and isinstance(node, Scalar):
            node = Map(node.mark, {self.short: node}, {self.short: node.mark})
        if self.short and isinstance(node, Seq):
            texts = [getattr(each, "text", "") for each in node.items]
            problems.wrong_type(node, "one text", f'write "{",".join(texts)}"')
        elif not isinstance(node, Map):
            problems.wrong_type(node, "a map", _shape_hint(node, rows))
        if not isinstance(node, Map):
            return self.cls()
        problems.file = problems.file or node
        problems.root = problems.root or self.cls
        values = {}
        for name, child in node.items.items():
            if name not in rows:
                mark = node.keys[name]
                hint = _unknown_key(name, child, mark, self.cls, problems)
                problems.note(mark, f"unknown key `{name}`", "unknown-key", hint)
            elif not is_null(child):
                first = len(problems.found)
                values[name] = rows[name].kind.read(child, problems)
                if first < len(problems.found) <= PROBLEMS_SHOWN:
                    from jobgen.profiles.mistakes.values import add_hints

                    add_hints(name, child, _setting(self.cls, problems, child.mark), first)
        return self.cls(**values)

    def schema(self) -> Schema:
        rows = {
            name: {"description": _description(row), **or_null(row.kind.schema())}
            for name, row in rows_of(self.cls)
        }
        whole = {"type": "object", "properties": rows, "additionalProperties": False}
        if not self.short:
            return whole
        one = _ROWS[self.cls][self.short].kind.schema()
        types = [*_types(one), "object"]
        del one["errorMessage"]  # an editor would show it for an unknown key of the map, too
        return {**one, **whole, "type": types}

    def in_words(self) -> str:
        names = " and ".join(f"`{name}`" for name, _ in rows_of(self.cls))
        return f"a value, or a map with {names}" if self.short else f"a map with {names}"

    def parse_option(self, text: str, mark: Mark) -> Node:
        if self.short and not text.startswith("{"):
            return _ROWS[self.cls][self.short].kind.parse_option(text, mark)
        return super().parse_option(text, mark)


class Row(NamedTuple):
    """The declaration of a field: its kind, its documentation and its default.

    `example` is a value as YAML, if the kind itself shows none. `absent` names the schedulers that
    do not support the field, each with a hint of what to use instead.
    """

    kind: Kind
    doc: str
    default: Any
    example: str = ""
    absent: Mapping[str, str] = {}


def row(kind: Kind, doc: str, default: Any = None, **more: Any) -> Any:
    """Declares a field of a record; if `default` can be called, its result is the default."""
    return Row(kind, doc, default() if callable(default) else default, **more)


_ROWS: dict[type, dict[str, Row]] = {}

AnyRecord = TypeVar("AnyRecord", bound=type)
Extended = TypeVar("Extended")


def record(cls: AnyRecord) -> AnyRecord:
    """Make a record of a named tuple: keep its rows, and put the real defaults in their place."""
    fields: Any = cls
    _ROWS[cls] = dict(fields._field_defaults)
    fields._field_defaults = {name: row.default for name, row in _ROWS[cls].items()}
    fields.__new__.__defaults__ = tuple(fields._field_defaults.values())
    return cls


def extended(cls: AnyRecord) -> AnyRecord:
    """Make a named tuple of a record's subclass, with the fields of the record and of the subclass.

    Python itself takes fields only from a class that names NamedTuple as its base.
    """
    base: Any = cls.__base__
    names = dict.fromkeys((*base._fields, *cls.__annotations__))
    defaults = [vars(cls)[name] for name in cls.__annotations__ if name in vars(cls)]
    fields = namedtuple(cls.__name__, names, defaults=defaults)  # type: ignore[misc]
    members = {"__doc__": cls.__doc__, "__module__": cls.__module__, "__slots__": ()}
    return type(cls.__name__, (fields, cls), members)  # type: ignore[return-value]


def extend(cls: type[Extended], values: Any, **others: Any) -> Extended:
    """Returns an instance of an `extended` class, with the values of a record and `others`."""
    return cls(**{**values._asdict(), **others})


def is_record(value: object) -> bool:
    """Whether a value is a record, which is a tuple, too."""
    return type(value) in _ROWS


def value_at(value: Any, path: str) -> Any:
    """The value of a key of a record; None if the record lacks the key's part."""
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


class Key(NamedTuple):
    """A key of a profile with its row; `default` is a text of YAML, or "" without a default."""

    path: str
    row: Row
    default: str


def keys_of(cls: type) -> list[Key]:
    """Returns all keys of a record's class; the keys of records in it have their whole paths."""
    rows = [each for each in _tree(cls).items() if not isinstance(each[1].kind, Record)]
    return [Key(path, row, _default_text(row.default)) for path, row in rows]


def _default_text(value: Any) -> str:
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return "" if value in (None, "", (), {}) else text


@cache
def _tree(cls: type, before: str = "") -> dict[str, Row]:
    """The rows of a record's class, and of the groups in it, by their paths."""
    found: dict[str, Row] = {}
    for name, row in rows_of(cls):
        found[f"{before}{name}"] = row
        if isinstance(row.kind, Record):
            found |= _tree(row.kind.cls, f"{before}{name}.")
    return found


def _setting(cls: type, problems: ProblemList, mark: Mark) -> Any:
    """Returns the Setting of a record: the keys of the record's file, and the record's group."""
    from jobgen.profiles.mistakes.readings import Setting

    root = problems.root or cls
    for path, row in _tree(root).items():
        if isinstance(row.kind, Record) and row.kind.cls is cls:
            return Setting(_tree(root), path, problems, mark)
    return Setting(_tree(root) if cls is root else _ROWS[cls], "", problems, mark)


def _shape_hint(node: Node, keys: Iterable[str] = ()) -> str:
    from jobgen.profiles.mistakes.readings import list_hint, map_hint

    return map_hint(node, keys) if keys else list_hint(node)


def _unknown_key(name: str, node: Node, mark: Mark, cls: type, problems: ProblemList) -> str:
    """What to write instead of an unknown key of a record."""
    from jobgen.profiles.mistakes.unknown_key import key_hint

    if len(problems.found) > PROBLEMS_SHOWN:
        return ""
    hint = key_hint(name, node, _setting(cls, problems, mark)) or nearest_hint(name, _ROWS[cls])
    return hint.replace("one of: ", "leave it out, or write one of: ")


def _description(row: Row) -> str:
    """Returns the documentation of a row for its schema, with the meaning of `$NAME` in a value."""
    dollar = getattr(getattr(row.kind, "item", row.kind), "dollar", "")
    return f"{row.doc} {NODE_VARIABLE}." if dollar == NODE else row.doc


def rows_of(cls: type) -> Iterable[tuple[str, Row]]:
    """The rows of a record's class, in their order."""
    return _ROWS[cls].items()


def kind_at(
    kind: Kind, path: list[str], mark: Mark, problems: ProblemList, value: str = ""
) -> Kind | None:
    """Returns the kind at `path`, which gets `value`; notes the first unknown key of the path."""
    problems.root = problems.root or getattr(kind, "cls", None)
    for number, name in enumerate(path):
        if isinstance(kind, MapOf):
            kind = kind.value
            continue
        rows = _ROWS[kind.cls] if isinstance(kind, Record) else {}
        if name not in rows:
            hint = f"`{'.'.join(path[:number])}` has no keys"
            if isinstance(kind, Record):
                whole = tree_at(path[number:], Scalar(mark, value, unquoted(value)), mark)
                hint = _unknown_key(name, whole.items[name], mark, kind.cls, problems)
            text = f"unknown key `{'.'.join(path[: number + 1])}`"
            problems.note(mark, text, "unknown-key", hint)
            return None
        kind = rows[name].kind
    return kind


def _types(schema: Schema) -> list[str]:
    """The types that a schema allows. Several types in one schema give better errors than anyOf."""
    types = schema["type"]
    return [types] if isinstance(types, str) else types


def or_null(schema: Schema) -> Schema:
    """Returns a schema that allows null, too."""
    if "enum" in schema:
        return {**schema, "enum": [*schema["enum"], None]}
    return {**schema, "type": [*_types(schema), "null"]}
