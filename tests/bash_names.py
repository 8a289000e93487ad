"""The names in a text of bash: functions, commands, and variables in lower case."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

PARSER = Parser(Language(tree_sitter_bash.language()))
LOWER_CASE = re.compile("[a-z][a-z0-9_]*")
DEFAULTS = frozenset("- :- = := + :+ ? :?".split())
ASSIGNING = ("read", "mapfile", "printf")  # to the names among their words


class Names(NamedTuple):
    """What a text defines and uses."""

    defined: frozenset[str]  # functions
    commands: frozenset[str]  # what stands where a command does
    words: frozenset[str]  # all words, such as the arguments of `timeout 9 function`
    read: frozenset[str]  # variables without a default
    read_with_default: frozenset[str]
    assigned: frozenset[str]

    def __or__(self, other: Names) -> Names:  # type: ignore[override]
        return Names(*(mine | more for mine, more in zip(self, other, strict=True)))


@cache
def names_in(text: str) -> Names:
    """The names in a text; in what `trap` runs, too."""
    tree = PARSER.parse(text.encode())
    nodes = list(_nodes(tree.root_node))
    found = Names(
        frozenset(
            _text(node.child_by_field_name("name")) for node in _of(nodes, "function_definition")
        ),
        frozenset(filter(re.compile(r"[\w:-]+").fullmatch, map(_text, _of(nodes, "command_name")))),
        frozenset(map(_text, _of(nodes, "word"))),
        frozenset(filter(LOWER_CASE.fullmatch, _reads(nodes, False))),
        frozenset(filter(LOWER_CASE.fullmatch, _reads(nodes, True))),
        frozenset(filter(LOWER_CASE.fullmatch, _assigned(nodes))),
    )
    for inner in _inner_texts(nodes):
        found |= names_in(inner)
    return found


def _nodes(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from _nodes(child)


def _of(nodes: list[Node], kind: str) -> Iterator[Node]:
    return (node for node in nodes if node.type == kind)


def _text(node: Node | None) -> str:
    return node.text.decode() if node and node.text else ""


def _reads(nodes: list[Node], with_default: bool) -> Iterator[str]:
    for node in nodes:
        parent = node.parent
        if not parent:
            continue
        whole = parent if parent.type != "subscript" else parent.parent
        is_index = parent.type == "subscript" and parent.children[0] != node
        is_plain = is_index or (node.type == "word" and _is_arithmetic(parent))
        if is_plain and not with_default:
            yield _text(node)
        elif node.type == "variable_name" and whole and not (is_plain or _is_target(node, whole)):
            defaults = whole.type == "expansion" and DEFAULTS & {
                each.type for each in whole.children[1:]
            }
            if bool(defaults) == with_default:
                yield _text(node)


def _is_arithmetic(node: Node) -> bool:
    above: Node | None = node
    while above and above.type in ("binary_expression", "postfix_expression", "unary_expression"):
        above = above.parent
    return bool(above and above.type == "c_style_for_statement")


def _is_target(node: Node, whole: Node) -> bool:
    """Whether a variable is only assigned there."""
    if whole.type == "declaration_command":
        return True
    if whole.type == "for_statement" or whole.type == "variable_assignment":
        return (
            whole.children[0] == node
            or whole.children[1] == node
            or whole.children[0] == node.parent
        )
    return False


def _assigned(nodes: list[Node]) -> Iterator[str]:
    for node in nodes:
        if node.type == "variable_assignment":
            target = node.children[0]
            yield _text(target.children[0] if target.type == "subscript" else target)
        elif node.type == "for_statement" or node.type == "declaration_command":
            yield from map(_text, _of(node.children, "variable_name"))
        elif node.type == "command" and _text(node.child_by_field_name("name")) in ASSIGNING:
            yield from map(_text, _of(node.children, "word"))
        elif node.type == "concatenation" and (found := re.fullmatch(r"\{(\w+)\}", _text(node))):
            yield found[1]
        elif node.type == "expansion" and any(child.type in ("=", ":=") for child in node.children):
            yield from map(_text, _of(node.children, "variable_name"))


def _inner_texts(nodes: list[Node]) -> Iterator[str]:
    for node in _of(nodes, "command"):
        if _text(node.child_by_field_name("name")) == "trap":
            yield from (_text(each)[1:-1] for each in _of(node.children, "raw_string"))
