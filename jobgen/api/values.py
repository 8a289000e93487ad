"""Converts Python values to the texts of a command line, and a mapping to a profile's tree."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from jobgen.errors import Mark, problem
from jobgen.planning.job_options import OPTIONS
from jobgen.planning.option_row import Option
from jobgen.profiles.kinds import Int, Kind, ProblemList
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import kind_at
from jobgen.profiles.units import Walltime
from jobgen.profiles.yaml_tree import Node, parse, with_marks

GIVEN = "profile.yaml"  # the name for a profile that is a mapping, for the script's header


def job_fields(program: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a Job for the arguments of a call. Raises JobgenError for a wrong type."""
    fields: dict[str, Any] = {}
    changes: list[str] = []
    for name, value in given.items():
        row = OPTIONS.get(name)
        if row is None:
            fields[name] = _text(name, value, "such as sbatch")  # the command
        elif row.repeatable:
            fields[name] = tuple(_repeated(name, value))
        elif row.metavar:
            is_list = row.is_list and not isinstance(value, str)
            text = ",".join(_words(name, value)) if is_list else _text(name, value, _right(row))
            fields[name] = text
        elif (text := _flag(name, value, row)) == row.flag_value:
            fields[name] = text
        else:
            changes.append(f"{row.path}={text}")
    if changes:
        fields["set_values"] = (*fields.get("set_values", ()), *changes)
    if words := tuple(_words("program", program)):
        fields["program"] = words
    return fields


def path_text(name: str, value: Any) -> str:
    """The text of a path or a name. Raises JobgenError for a value of another type."""
    if isinstance(value, (str, os.PathLike)):
        return os.fsdecode(value)
    raise _wrong_type(name, "text or a path", value)


def variables(value: Any) -> Mapping[str, str]:
    """The argument `environ`. Raises JobgenError unless it maps texts to texts."""
    if not isinstance(value, Mapping):
        raise _wrong_type("environ", "a mapping of texts", value)
    for each in (*value, *value.values()):
        if not isinstance(each, str):
            raise _wrong_type("environ", "a mapping of texts", each)
    return value


def given_profile(data: Mapping[str, Any]) -> tuple[str, Node]:
    """The file name and the tree of a profile that is a mapping. Raises JobgenError.

    The mapping is written as JSON, which is YAML, and parsed. A message about a value names its
    path in the mapping instead of a line.
    """
    try:
        text = json.dumps(data, ensure_ascii=False, default=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        hint = "texts, numbers, true, false, null, lists and maps"
        raise problem("profile", f"it cannot be YAML: {error}", "type", hint) from None
    tree = parse(text.encode("utf-8", "surrogatepass"), "profile")
    return GIVEN, with_marks(tree, lambda path: Mark(f"profile: {path}" if path else "profile"))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fsdecode(value)
    raise TypeError(f"{value!r:.80} is of type {type(value).__name__}")


def _flag(name: str, value: Any, row: Option) -> str:
    """The text for the profile's key of a switch; `shared` and `exclusive` set the same key."""
    if not isinstance(value, bool):
        raise _wrong_type(name, "True or False", value)
    is_positive = row.path.rpartition(".")[2] == name
    return "true" if value == is_positive else "false"


def _repeated(name: str, value: Any) -> Iterator[str]:
    """The texts of an option that can be given several times."""
    if name not in ("environment", "set_values") or not isinstance(value, Mapping):
        yield from [_text(name, value)] if isinstance(value, str) else _words(name, value)
        return
    for each, item in value.items():
        key = _key(name, each)
        if name == "environment":
            yield key if item is None else f"{key}={_text(f'{name}: {key}', item)}"
        else:
            yield f"{key}={_yaml(f'{name}: {key}', item)}"


def _key(name: str, key: Any) -> str:
    """A name in a mapping. Raises JobgenError for `=`: the command line splits NAME=VALUE there."""
    if not isinstance(key, str):
        raise _wrong_type(name, "names that are text", key)
    if "=" in key:
        raise problem(name, f"the name {key!r:.60} has a `=`", "value", "NAME alone")
    return key


def _yaml(name: str, value: Any) -> str:
    """A value in the form for --set: text without a change, all other values as YAML."""
    if isinstance(value, (str, os.PathLike)):
        return os.fsdecode(value)
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        raise _wrong_type(name, "a text, a number, True, False, None or a list", value) from None


def _words(name: str, value: Any) -> Iterator[str]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Sequence):
        example = '["train.py", "--lr", "0.1"]' if name == "program" else '["a", "b"]'
        raise _wrong_type(name, "a list of words", value, example)
    for number, word in enumerate(value):
        yield _text(f"{name}[{number}]", word)


def argument_type(row: Option) -> str:
    """The annotation of the argument for an option, for type checkers."""
    if not row.metavar:
        return "bool"
    if row.repeatable or row.is_list:
        return "Values" if "=" in row.metavar else "Words"
    if row.metavar in ("FILE", "FOLDER"):
        return "PathName"
    return "int | str" if isinstance(_kind(row), (Int, Walltime)) else "str"


def _kind(row: Option) -> Kind | None:
    """The kind of the profile's value that an option sets; None if it sets none."""
    path = row.path.split(".") if row.path else []
    return kind_at(ROOT, path, Mark(row.path), ProblemList()) if path else None


def _right(row: Option) -> str:
    """A description of the right values of an option, for a hint."""
    kind = _kind(row)
    return kind.in_words() if kind else f"such as {row.example or row.metavar}"


def _text(name: str, value: Any, right: str = "") -> str:
    """The text of a value on the command line; `right` is the hint for a wrong type."""
    if isinstance(value, (str, os.PathLike)):
        return os.fsdecode(value)
    if isinstance(value, bool):
        hint = right or f'write it as a program reads it, such as "{str(value).lower()}"'
        raise _wrong_type(name, "text or a number", value, hint)
    if isinstance(value, (int, float)):
        return str(value)
    raise _wrong_type(name, "text or a number", value)


def _wrong_type(name: str, wanted: str, value: Any, example: str = "") -> Exception:
    hint = f"such as {example}" if example.startswith("[") else example
    return problem(name, f"expected {wanted}, got {value!r:.60}", "type", hint)
