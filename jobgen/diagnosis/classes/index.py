"""What each diagnosis needs of all classes, in one file that `make golden` makes of their texts.

To read the texts themselves takes longer than all else of a short log's diagnosis.
"""

import os
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from jobgen.diagnosis.signs import Sign

INDEX = os.path.join(os.path.dirname(__file__), "index.tsv")


class IndexedSign(NamedTuple):
    """A sign of a class, and the shapes of texts of which each line that it matches has one."""

    code: str
    sign: Sign
    texts: Sequence[str]


class Index(NamedTuple):
    """All signs in the order of the classes; of each class, by its code, what its text names."""

    traits: dict[str, frozenset[str]]
    explains: dict[str, frozenset[str]]
    signs: list[IndexedSign]


@cache
def index() -> Index:
    """The index of all classes.

    A row without a meaning begins a class: its code, its traits, what it explains. Other rows have
    a sign: its meaning, its pattern, its texts.
    """
    made = Index({}, {}, [])
    with open(INDEX, encoding="utf-8") as stream:
        rows = [line.split("\t") for line in stream.read().splitlines()]
    code = ""
    for meaning, first, *others in rows:
        if meaning:
            made.signs.append(IndexedSign(code, Sign(first, meaning), others))
        else:
            code = first
            made.traits[code], made.explains[code] = (frozenset(each.split()) for each in others)
    return made
