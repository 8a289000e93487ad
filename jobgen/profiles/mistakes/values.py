"""Hints for a wrong value: the word of another tool, the value that was meant, or an example."""

import re
from collections.abc import Mapping
from typing import Any

from jobgen.errors import Problem
from jobgen.other_words.search import value_hint
from jobgen.profiles.mistakes.readings import Setting, as_flow, named_values, right_value
from jobgen.profiles.mistakes.unknown_key import inner_hint
from jobgen.profiles.yaml_tree import Map, Node
from jobgen.quoting import quote


def add_hints(
    name: str, node: Node, rows: Mapping[str, Any], group: str, problems: Any, first: int
) -> None:
    """Give the problems of a key's value, from the one with the number `first`, better hints."""
    setting = Setting(rows, group, problems, node.mark)
    found, path = problems.found, f"{group}.{name}".lstrip(".")
    is_own = [(each.mark, each.code) for each in found[first:]] == [(node.mark, "type")]
    if isinstance(node, Map) and not is_own:
        return  # they are of values in it
    found[first:] = [_with_hint(each, path, node, setting) for each in found[first:]]


def _with_hint(each: Problem, path: str, node: Node, setting: Setting) -> Problem:
    """A problem of the value at a path, with a hint of what to write, if there is a better one."""
    found = re.fullmatch(
        "unknown value `(.*)`|expected true or false, got the text `(.*)`", each.text
    )
    if found and ((hint := value_hint(path, found[1] or found[2])) or found[1]):
        if setting.is_option:  # `gpu: nvidia` stands in the group of the key
            before = path[: path.rfind(".") + 1]
            hint = re.sub(r"`(\w+): ([\w-]+)`", rf"--set {before}\1=\2", hint)
        return each._replace(hint=hint or each.hint)
    at_signal = re.fullmatch(r"(?:\w:)?\w+@(\d+)", getattr(node, "text", ""))  # USR1@120
    if at_signal and "whole seconds" in each.text:
        return each._replace(hint=f"write {at_signal[1]}, a number of seconds")
    if each.code not in ("type", "value") or (
        each.hint and "a list" not in each.text and "its keys: " not in each.hint
    ):
        return each
    row = setting.rows[path]
    name = path.rpartition(".")[2]
    if value := right_value(path, node, setting):
        if setting.is_option and value.startswith("{"):
            pairs = [f"--set {path}.{name}={as_flow(one)}" for name, one in named_values(node)]
            return each._replace(hint=f"write {' '.join(pairs)}")
        value = quote(f"{path}={value}") if setting.is_option else value
        return each._replace(
            hint=f"write {'--set ' * setting.is_option}{_line(name, value, setting)}"
        )
    if each.text.endswith("got a map") and (hint := inner_hint([path], node, setting)):
        return each._replace(hint=hint)
    if each.hint or not row.example or "such as" in each.text:
        return each
    example = row.example.strip('"') if setting.is_option else row.example
    return each._replace(hint=f"such as {_line(name, example, setting)}")


def _line(name: str, value: str, setting: Setting) -> str:
    return value if setting.is_option else f"`{name}: {value}`"
