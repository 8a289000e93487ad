"""The classes of failure, a text for each: host-memory.txt is that of the class host-memory.

Its first paragraph is the title, and the last one its signs, which jobgen/diagnosis/signs.py
explains. Between them is the page: what happens, how it shows, the sources. One paragraph is apart:

    Cure: what to do
    Not this: what looks like the cause, and is not
    Explains: the codes of the classes that follow from it, where both are seen
    Traits: what the judge asks of it beside its signs, names of TRAITS

A field that is longer than a line goes on in the next one, behind four blanks.

Here is how a class is found by its code. Not here: how lines are read, and how the first failure is
found.
"""

import os
from functools import cache
from typing import NamedTuple

from jobgen.diagnosis.signs import Sign, read_signs

TRAITS = {
    "scheduler": "the scheduler ended what was left: it is the cause only if nothing failed before",
    "outside": "the node of its lines only wrote them, and did not fail",
    "general": "a process failed, and not why: any other class says more",
    "setup": "a rank that ended with an error is not named for it: the others would have ended so",
    "waiting": "ranks waited for others in vain: not the cause if a process had ended badly before",
    "peers": "ranks waited for others, or lost them: if a GPU of a node is broken, it is the cause",
    "gpu": "a broken GPU of its node can be behind it",
    "process": "a process ended so: on a node that names no rank, it was the node's launcher",
    "plain": "it only says that a process failed: a line of its message may be another class's",
}
_FOLDER = os.path.dirname(__file__)


class FailureClass(NamedTuple):
    """A class of failure, as its text says."""

    code: str  # such as host-memory
    title: str
    page: str
    signs: tuple[Sign, ...]
    cure: str  # in one line; groups of a pattern are in braces
    misleads: str
    explains: frozenset[str]
    traits: frozenset[str]


def codes() -> list[str]:
    """The codes of all classes, sorted; none is read."""
    return sorted(name[:-4] for name in os.listdir(_FOLDER) if name.endswith(".txt"))


@cache
def classes() -> dict[str, FailureClass]:
    """All classes by their codes, sorted."""
    return {code: _read(code) for code in codes()}


@cache
def codes_with(trait: str) -> frozenset[str]:
    """The codes of the classes that have a trait."""
    return frozenset(code for code, each in classes().items() if trait in each.traits)


def _read(code: str) -> FailureClass:
    with open(os.path.join(_FOLDER, f"{code}.txt"), encoding="utf-8") as file:
        page, _, signs = file.read().partition("\n\nSigns:\n")
    title, *parts = page.split("\n\n")
    fields = {"Cure": "", "Not this": "", "Explains": "", "Traits": ""}
    advice = next(part for part in parts if part.startswith("Cure: "))
    for line in advice.replace("\n    ", " ").splitlines():
        name, _, text = line.partition(": ")
        if name not in fields:
            raise ValueError(f"{code}.txt: `{name}` is none of {', '.join(fields)}")
        fields[name] = text
    cure, misleads, explains, traits = fields.values()
    return FailureClass(
        code,
        title.rstrip("."),
        "\n\n".join(part for part in parts if part is not advice),
        tuple(read_signs(signs)),
        cure,
        misleads,
        frozenset(explains.split()),
        frozenset(traits.split()),
    )
