"""The values that options of Slurm's commands take: slurm.txt, and here what no pattern can say."""

import re
from functools import cache

from jobgen.lint.option_values.grammar import Grammar, read_grammars, words

# ---- nodes: verify_node_count; lists such as 1,2,4-8 are new in 23.02 ----


def _refused_nodes(value: str) -> str:
    least, dash, most = value.partition("-")
    if re.fullmatch(r"\d+(-\d+(:\d+)?)?([,:]\d+(-\d+(:\d+)?)?)*", value, re.A) and "," in value:
        return ""
    first, last = _node_count(least), _node_count(most)
    if first is None or last is None or (not dash and first < 0):
        return value or "nothing"
    return "" if not dash or last == 0 or last >= max(first, 1) else value


def _node_count(text: str) -> int | None:
    """The number; -1 if there is none, and None if that is not a number."""
    found = re.fullmatch(r"(\s*\+?(\d{1,18})(k?)(m?)\s*)?", text, re.IGNORECASE | re.ASCII)
    if not found:
        return None
    shift = (10 if found[3] else 0) + (20 if found[4] else 0)
    return int(found[2]) << shift if found[2] else -1


# ---- arrays: src/common/slurm_protocol_defs.c, slurm_parse_array_tok ----

_ARRAY_ITEM = re.compile(
    r"(?!\[?-\s*\+?\d)\[?\s*\+?(\d{0,18})\]?(-\s*\+?(\d{0,18})\]?(:\s*\+?(\d{1,18})\]?)?)?(%.*)?",
    re.ASCII,
)


def _refused_array(value: str) -> str:
    for item in value.split(","):
        if not (found := _ARRAY_ITEM.fullmatch(item)):
            return item
        first, last, step = (int(found[group] or 0) for group in (1, 3, 5))
        if (found[2] and last < first) or (found[4] and step == 0):
            return item
    return ""


@cache
def grammars() -> dict[str, Grammar]:
    """The grammars of all options, by their long names."""
    return {
        **read_grammars("slurm.txt"),
        "nodes": Grammar("a number of nodes, or MIN-MAX", _refused_nodes),
        "array": Grammar(
            "numbers and ranges such as 0-15, 1,3,5 or 0-100:10, and %4 for at most 4 at a time",
            _refused_array,
        ),
        "licenses": words(
            "NAME[:COUNT], with commas between several", r"[^\s:=]+([:=]\+?\w*)?", ",;|"
        ),
    }
