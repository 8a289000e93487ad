"""The fixed texts of a pattern: a line that has none of them needs no search."""

import re

_GAP, _OR = "\0", "\1"  # what may be any text; between texts of which a match has one
_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]")  # an escape, a class in brackets
_OPTIONAL = re.compile(r"[^()|](?:[?*]|\{[\d,]*\})")
_GROUP = re.compile(
    r"\((?P<look>\?<?[!=])?(?:\?(?:P<\w+>|\w*:?))?(?P<body>[^()]*)\)(?P<optional>[?*]|\{[\d,]*\})?"
)


def literals(pattern: str) -> list[str]:
    """Lower-case texts, of which each match of a pattern has one; an empty one says nothing."""
    rest = _OPTIONAL.sub(_GAP, _ATOM.sub(_GAP, pattern))
    for sign in ".+^$":
        rest = rest.replace(sign, _GAP)
    while "(" in rest:  # the innermost groups first
        rest = _GROUP.sub(_without_parentheses, rest)
    return list(dict.fromkeys(_best(rest).lower().split(_OR)))


def _without_parentheses(group: re.Match[str]) -> str:
    look, body, optional = group.groups()
    if look or optional:
        return _GAP
    return f"{_GAP}{_best(body)}{_GAP}" if "|" in body else body


def _best(alternatives: str) -> str:
    """The longest fixed text of each alternative; of a group's texts, the shortest counts."""
    if "|" not in alternatives and _OR not in alternatives:
        return max(alternatives.split(_GAP), key=len)
    size = _shortest if _OR in alternatives else len
    return _OR.join([max(one.split(_GAP), key=size) for one in alternatives.split("|")])


def _shortest(texts: str) -> int:
    return min(map(len, texts.split(_OR)))
