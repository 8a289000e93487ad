"""Hints for a wrong value: the word of another tool, the value that was meant, or an example."""

import re

from jobgen.errors import Problem
from jobgen.other_words.search import main_keys, value_hint
from jobgen.profiles.mistakes.lines import CONTAINER, line_for, placed
from jobgen.profiles.mistakes.readings import Setting, named_values, right_value
from jobgen.profiles.mistakes.unknown_key import as_list, inner_hint, of_value
from jobgen.profiles.yaml_tree import Map, Node, Scalar, Seq, as_flow, parse
from jobgen.quoting import quote


def add_hints(name: str, node: Node, setting: Setting, first: int) -> None:
    """Give better hints to the problems of a key's value, which begin at the number `first`."""
    found, path = setting.problems.found, f"{setting.group}.{name}".lstrip(".")
    is_own = [(each.mark, each.code) for each in found[first:]] == [(node.mark, "type")]
    if isinstance(node, Map) and not is_own:
        return  # the problems are of values in the map
    found[first:] = [_with_hint(each, path, node, setting) for each in found[first:]]


def _with_hint(each: Problem, path: str, node: Node, setting: Setting) -> Problem:
    """Returns a problem of the value at a path, with a better hint if there is one."""
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
            pairs = [line_for(f"{path}.{name}", as_flow(one), setting) for name, one in named]
            return each._replace(hint=f"write {' '.join(pairs)}")
        is_image = path == CONTAINER and isinstance(node, Scalar) and not setting.is_option
        line = placed(f"{path}.image" if is_image else path, node, setting, name)
        return each._replace(hint=f"write {line}{_passed_on(path, node)}")
    if each.text.endswith("got a map") and (hint := inner_hint([path], node, setting)):
        return each._replace(hint=hint)
    pair = re.match(r"write `(\w+): (.+)`, with a blank", each.hint)
    if setting.is_option and pair:
        return each._replace(hint=f"write --set {quote(f'{path}.{pair[1]}={pair[2]}')}")
    if each.hint or not row.example or "such as" in each.text:
        return each
    is_option = setting.is_option
    example = row.example.strip('"') if is_option else line_for(path, row.example, setting)
    return each._replace(hint=f"such as {example}")


def _of_word(each: Problem, path: str, word: str, setting: Setting) -> str:
    """Returns the tables' hint for a word as the value of a key, or of a main key of a group."""
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
    """Returns the options -e for the names without a value in a list of variables."""
    items = node.items if isinstance(node, Seq) and path == "network.environment" else []
    names = [
        each.text for each in items if isinstance(each, Scalar) and re.fullmatch(r"\w+", each.text)
    ]
    return f"; and for each job: {' '.join(f'-e {name}' for name in names)}" if names else ""


def _of_group(hint: str, path: str) -> str:
    """Returns a hint with options in the place of the keys of a path's group."""
    before = path[: path.rfind(".") + 1]
    return re.sub(r"`(\w+): (\"[^\"`]*\"|[\w-]+)`", rf"--set {before}\1=\2", hint)
