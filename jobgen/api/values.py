"""Values of Python as the text that a command line has, and a mapping as a profile's tree."""

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

GIVEN = "profile.yaml"  # the file that a mapping is taken for: the script's header names it


def job_fields(program: Sequence[Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a Job for arguments of Python. Raises JobgenError for a wrong type."""
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
    """A path or a name, as the command line has it. Raises JobgenError for anything else."""
    if isinstance(value, (str, os.PathLike)):
        return os.fsdecode(value)
    raise _wrong_type(name, "text or a path", value)


def variables(value: Any) -> Mapping[str, str]:
    """The argument `environ`. Raises JobgenError for anything but a mapping of texts."""
    if not isinstance(value, Mapping):
        raise _wrong_type("environ", "a mapping of texts", value)
    for each in (*value, *value.values()):
        if not isinstance(each, str):
            raise _wrong_type("environ", "a mapping of texts", each)
    return value


def given_profile(data: Mapping[str, Any]) -> tuple[str, Node]:
    """The file name and the tree of a profile that is a mapping. Raises JobgenError.

    It is read as the same data in JSON would be, which is YAML; a place in a message is the path of
    the value.
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
    """The value that the profile's key gets; `shared` and `exclusive` set the same key."""
    if not isinstance(value, bool):
        raise _wrong_type(name, "True or False", value)
    is_positive = row.path.rpartition(".")[2] == name
    return "true" if value == is_positive else "false"


def _repeated(name: str, value: Any) -> Iterator[str]:
    """The values of an option that can be given several times."""
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
    """A name in a mapping; the command line would take what follows a `=` in it for the value."""
    if not isinstance(key, str):
        raise _wrong_type(name, "names that are text", key)
    if "=" in key:
        raise problem(name, f"the name {key!r:.60} has a `=`", "value", "NAME alone")
    return key


def _yaml(name: str, value: Any) -> str:
    """A value as --set is given it: text as it is, everything else as YAML."""
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
    """The type of the argument for an option, for a checker of types."""
    if not row.metavar:
        return "bool"
    if row.repeatable or row.is_list:
        return "Values" if "=" in row.metavar else "Words"
    if row.metavar in ("FILE", "FOLDER"):
        return "PathName"
    return "int | str" if isinstance(_kind(row), (Int, Walltime)) else "str"


def _kind(row: Option) -> Kind | None:
    """The kind of the profile's value that an option sets."""
    path = row.path.split(".") if row.path else []
    return kind_at(ROOT, path, Mark(row.path), ProblemList()) if path else None


def _right(row: Option) -> str:
    """What would be a value of an option."""
    kind = _kind(row)
    return kind.in_words() if kind else f"such as {row.example or row.metavar}"


def _text(name: str, value: Any, right: str = "") -> str:
    """A value that is text on the command line, too; `right` says what would be one."""
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
