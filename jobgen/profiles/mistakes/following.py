"""What a hint says to write, and a file in which the hints of all its problems are followed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import deepcopy

from jobgen.errors import JobgenError, Mark, Problem
from jobgen.profiles.yaml_tree import (
    Map,
    Node,
    Scalar,
    as_flow,
    merge,
    parse,
    tree_at,
    with_marks,
)

_PLACE = (
    r" at the top level| (?:in the braces of|below) `\w+:` in line \d+"
    r"|, in the same `\w+:` as line \d+'s"
)
_VALUE = re.compile(r'write ("[^"]*"|[\w.]+)(?=$|,)')
WRITE = re.compile(rf"(?:write |(?<=, ))`(\w+: [^`]+)`((?:{_PLACE})*)")


def written(hint: str) -> Iterator[tuple[Map, str]]:
    """The keys and values that a hint says to write, and the words for their place."""
    if "write `" in hint:
        for text, place in WRITE.findall(hint.partition("; or ")[0]):
            try:
                tree = parse(text.encode(), "hint")
            except JobgenError:
                continue
            if isinstance(tree, Map) and not re.search("…|: N}*$", text):
                yield tree, place


def together(hints: Iterable[str]) -> str:
    """Several hints as one, in which the keys of a group stand in one group."""
    groups: dict[str, Node] = {}
    options, others = [], []
    for hint in dict.fromkeys(hints):
        found = list(written(hint))
        for tree, place in found:
            groups[place] = merge(groups.get(place), tree, with_lists=True)
        if hint.startswith("write --set "):
            options.append(hint.removeprefix("write "))
        elif not found:
            others.append(hint)
    lines = [
        f"`{name}: {as_flow(node)}`{place}"
        for place, tree in groups.items()
        for name, node in getattr(tree, "items", {}).items()
    ]
    first = f"write {', '.join(lines) or ' '.join(options)}"
    return "; and ".join([first] * bool(lines or options) + others)


def followed(tree: Map, problems: Sequence[Problem]) -> Map:
    """The tree of a file with what the hints of its problems say to write."""
    tree = deepcopy(tree)
    of_file = [each for each in problems if each.code in ("no-scheduler", "limit")]
    by_mark = {each.mark: each for each in problems if each.mark.line and each not in of_file}
    groups = list(_groups(tree))
    places = {(name, group.keys[name].line): group for group in groups for name in group.items}
    for group in groups:
        for name, mark, node in [(key, group.keys[key], group.items[key]) for key in group.items]:
            each = by_mark.get(mark) or by_mark.get(node.mark)
            if each is None or (each.mark != mark and each.code == "unknown-key"):
                continue  # a group begins where its first key does
            keys = list(written(each.hint))
            if each.code == "unknown-key" or keys:
                del group.items[name]
            elif (value := _VALUE.match(each.hint)) and isinstance(node, Scalar):
                _put(tree_at([name], parse(value[1].encode(), "hint"), mark), group, node.mark)
            for found, place in keys:
                _put(found, _target(place, tree, group, places), mark)
    for each in of_file:
        for found, _ in written(each.hint):
            _put(found, tree, tree.mark)
    return tree


def _target(place: str, tree: Map, group: Map, places: Mapping[tuple[str, int], Map]) -> Map:
    """The group that the words for a place name."""
    if inner := re.search(r"(?:in the braces of|below) `(\w+):` in line (\d+)", place):
        found = places[inner[1], int(inner[2])].items.get(inner[1])
        return found if isinstance(found, Map) else group
    return tree if "top level" in place else group


def _put(found: Map, group: Map, mark: Mark) -> None:
    for name, node in found.items.items():
        node = with_marks(node, lambda _: mark)
        group.items[name], group.keys[name] = merge(group.items.get(name), node), mark


def _groups(node: Node) -> Iterator[Map]:
    if isinstance(node, Map):
        yield node
        for each in list(node.items.values()):
            yield from _groups(each)
