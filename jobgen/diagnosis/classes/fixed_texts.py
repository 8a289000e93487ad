"""Finds the fixed texts of patterns, by which lines are chosen, and makes the classes' index.

For the classes' signs, `make golden` does it: that many take longer than a short log's diagnosis.
"""

import re
from collections.abc import Iterable, Sequence

from jobgen.diagnosis.classes import FailureClass
from jobgen.diagnosis.reader import shape_of
from jobgen.diagnosis.signs import ABOVE

# Texts that are in any kind of error, if a pattern has another one.
_COMMON = {
    *("runtimeerror", "valueerror", "oserror", "error", "error ", "error: ", ": error: "),
    *("failed", "failed ", "failed: "),
}
_GAP, _OR = "\0", "\1"  # stands for any text; separates texts of which a match has one
_BRACKETS = {r"\[": "\2", r"\]": "\3", r"\(": "\4", r"\)": "\5", "[ ]": " "}
_BRACKETS_AGAIN = str.maketrans("\2\3\4\5*", "[]()" + _GAP)
_ANYTHING = str.maketrans(dict.fromkeys(".+^$", _GAP))
_LOOK = "\6"  # begins a group that only looks ahead or back
# An escape, a class in brackets, a back reference.
_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|\(\?P=\w+\)")
_NAME = re.compile(r"\(\?(?:p<\w+>|\w*:)")
_LOOKS = re.compile(r"\(\?<?[!=]")
_TIMES = re.compile(r"\{[\d,]*\}")
_PLAIN = re.compile(r"\(([^()|\6]*)\)(?!\*)")
_GROUP = re.compile(r"\(([^()]*)\)(\*?)")


def text_of_index(classes: Iterable[FailureClass]) -> str:
    """What jobgen/diagnosis/classes/index.tsv has of these classes."""
    rows = []
    for each in classes:
        names = [" ".join(sorted(each.traits)), " ".join(sorted(each.explains))]
        rows.append(["", each.code, *names])
        if "last-resort" in each.traits:
            continue  # its signs are not searched in each line
        texts = shapes_of_literals([sign.pattern for sign in each.signs])
        for sign, shapes in zip(each.signs, texts, strict=True):
            rows.append([sign.meaning, sign.pattern, *shapes])
    return "".join("\t".join(row) + "\n" for row in rows)


def shapes_of_literals(patterns: Sequence[str]) -> list[list[str]]:
    """The shapes of the literals of each pattern's first line."""
    parts = literals([ABOVE.split(pattern)[0] for pattern in patterns])
    return [[_shape(text) for text in texts] for texts in parts]


def _shape(text: str) -> str:
    return shape_of(text.encode("ascii", "ignore")).decode("ascii")


def literals(patterns: Sequence[str]) -> list[list[str]]:
    """For each pattern, lower-case texts, one of which is in each match; "" is in any text."""
    rest = "\n".join(patterns)  # all at once, which takes a third of the time
    for written, meant in _BRACKETS.items():
        rest = rest.replace(written, meant)
    rest = _ATOM.sub(_GAP, rest).translate(_ANYTHING).lower()
    rest = _TIMES.sub("*", _LOOKS.sub(f"({_LOOK}", _NAME.sub("(", rest))).replace("?", "*")
    *parts, last = rest.split("*")  # each but the last may be left out, or repeated
    rest = "".join([f"{p}*" if p[-1:] in ")(|" else p[:-1] + _GAP for p in parts]) + last
    while "(" in rest:  # the innermost groups first
        rest = _GROUP.sub(_without_parentheses, _PLAIN.sub(r"\1", rest))
    rest = rest.translate(_BRACKETS_AGAIN)
    return [[*dict.fromkeys(_best(one).split(_OR))] for one in rest.split("\n")]


def _without_parentheses(group: re.Match[str]) -> str:
    body, repeated = group.groups()
    if repeated or body[:1] == _LOOK:
        return _GAP
    return f"{_GAP}{_best(body)}{_GAP}" if "|" in body else body


def _best(alternatives: str) -> str:
    """The longest fixed text of each alternative; for a group, the shortest of its texts counts."""
    if "|" not in alternatives and _OR not in alternatives:
        return _longest(alternatives)
    return _OR.join([_longest(one) for one in alternatives.split("|")])


def _longest(alternative: str) -> str:
    texts = alternative.split(_GAP)
    longest = max(texts, key=len)
    if _OR in alternative or longest in _COMMON:
        return max(texts, key=_size)
    return longest


def _size(texts: str) -> int:
    if _OR in texts:
        return min(map(_size, texts.split(_OR)))
    return 0 if texts in _COMMON else len(texts)
