"""Hints for a wrong value: the word of another tool, the value that was meant, or an example."""

import re
from collections.abc import Mapping
from typing import Any

from jobgen.errors import Problem
from jobgen.other_words.search import main_keys, value_hint
from jobgen.profiles.mistakes.placing import placed
from jobgen.profiles.mistakes.readings import Setting, named_values, right_value
from jobgen.profiles.mistakes.unknown_key import as_list, inner_hint, of_value
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, as_flow, parse
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
    unknown = re.fullmatch("unknown value `(.*)`|expected .*, got '(.*)'", each.text)
    texts = [getattr(it, "text", "") for it in (node.items if isinstance(node, Seq) else [node])]
    word = (unknown[1] or unknown[2]) if unknown else ",".join(texts)
    product = re.fullmatch(r"(\d+) ?[xX*] ?([A-Za-z][\w.-]*)", word or "")  # 4x A100
    if path == "node.gpus" and product and not setting.is_option:
        node = Scalar(node.mark, f"{product[2]}:{product[1]}", None)
        return each._replace(hint=f"write {placed(path, node, setting, 'gpus')}")
    if word and each.code != "limit" and (hint := _of_word(each, path, word, setting)):
        return each._replace(hint=hint)
    if setting.mark.file.startswith("--set") and getattr(node, "text", None) == "":
        return each._replace(hint=f"write --set {path}=null, if there shall be none")
    is_vague = not each.hint or re.search("a list|a map|its keys: |one of: ", each.text + each.hint)
    if each.code not in ("type", "value") or not is_vague:
        return each
    row = setting.rows[path]
    name = path.rpartition(".")[2]
    if value := right_value(path, node, setting):
        if setting.is_option and value.startswith("{"):
            named = list(named_values(node)) or list(named_values(parse(value.encode(), path)))
            pairs = [f"--set {path}.{name}={as_flow(one)}" for name, one in named]
            return each._replace(hint=f"write {' '.join(pairs)}")
        if path == "node.gpus" and not setting.is_option:
            return each._replace(hint=f"write {placed(path, node, setting, name)}")
        if path == "software.container" and isinstance(node, Scalar) and not setting.is_option:
            return each._replace(hint=f"write {placed(f'{path}.image', node, setting, name)}")
        value = quote(f"{path}={value}") if setting.is_option else value
        hint = f"write {'--set ' * setting.is_option}{_line(name, value, setting)}"
        return each._replace(hint=hint + _passed_on(path, node))
    if each.text.endswith("got a map") and (hint := inner_hint([path], node, setting)):
        return each._replace(hint=hint)
    pair = re.match(r"write `(\w+): (.+)`, with a blank", each.hint)
    if setting.is_option and pair:
        return each._replace(hint=f"write --set {quote(f'{path}.{pair[1]}={pair[2]}')}")
    if each.hint or not row.example or "such as" in each.text:
        return each
    example = row.example.strip('"') if setting.is_option else row.example
    return each._replace(hint=f"such as {_line(name, example, setting)}")


def _of_word(each: Problem, path: str, word: str, setting: Setting) -> str:
    """What the tables have for a word as a value, also of the keys that a group may stand for."""
    if hint := value_hint(path, word):
        if setting.is_option:
            return _of_group(hint, path)
        if each.text.startswith("expected a list"):
            hint = re.sub("^write `?([^`]+)`?$", r"write [\1]", hint)
        return as_list(hint)
    if not each.text.startswith("expected a map"):
        return ""
    hints = (of_value([f"{path}.{key}"], word, setting) for key in main_keys(path))
    return next(filter(None, hints), "")


def _passed_on(path: str, node: Node) -> str:
    """What to write for the names without a value in a list of variables."""
    items = node.items if isinstance(node, Seq) and path == "network.environment" else []
    names = [
        each.text for each in items if isinstance(each, Scalar) and re.fullmatch(r"\w+", each.text)
    ]
    return f"; and for each job: {' '.join(f'-e {name}' for name in names)}" if names else ""


def _of_group(hint: str, path: str) -> str:
    """A hint with options in the place of the keys of a path's group."""
    before = path[: path.rfind(".") + 1]
    return re.sub(r"`(\w+): (\"[^\"`]*\"|[\w-]+)`", rf"--set {before}\1=\2", hint)


def _line(name: str, value: str, setting: Setting) -> str:
    return value if setting.is_option else f"`{name}: {value}`"
