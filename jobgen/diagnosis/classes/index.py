"""What each diagnosis needs of all classes, in one file that `make golden` makes of their texts.

To read the texts themselves takes longer than all else of a short log's diagnosis.
"""

import os
from collections.abc import Iterator, Sequence
from functools import cache
from typing import NamedTuple

from jobgen.diagnosis.signs import Sign

INDEX = os.path.join(os.path.dirname(__file__), "index.tsv")


class Index(NamedTuple):
    """All signs in the order of the classes; of each class, by its code, what its text names.

    A sign is made of its row only where a line may match it: there are more than a thousand.
    """

    traits: dict[str, frozenset[str]]
    explains: dict[str, frozenset[str]]
    rows: list[tuple[str, Sequence[str]]]  # the code of a class, and the row of a sign

    def sign(self, number: int) -> tuple[str, Sign]:
        """The code of a class, and its sign that has this number."""
        code, (meaning, pattern, *_) = self.rows[number]
        return code, Sign(pattern, meaning)

    def texts(self) -> Iterator[tuple[int, Sequence[str]]]:
        """The number of each sign, and shapes of texts: each line that it matches has one."""
        return ((number, row[2:]) for number, (_, row) in enumerate(self.rows))


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
    for row in rows:
        if row[0]:
            made.rows.append((code, row))
        else:
            code = row[1]
            made.traits[code], made.explains[code] = (frozenset(each.split()) for each in row[2:])
    return made
