"""The classes of failure: one file for each; the file of the class host-memory is host_memory.py.

Here is how a class is found by its code. A class's file has a docstring (its first line is the
title, the rest is the page, with a paragraph that begins with `Cure: ` and one with `Not this: `),
SIGNS (jobgen/diagnosis/signs.py says how they are written), EXPLAINS and TRAITS. Not here: how
lines are read, and how the first failure is found.
"""

import os
from functools import cache
from importlib import import_module
from typing import NamedTuple

from jobgen.diagnosis.signs import Sign, read_signs

# What the judge asks of a class beside its signs.
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

# Paragraphs of a page that are asked for alone.
_CURE, _MISLEADS = "Cure: ", "Not this: "


class FailureClass(NamedTuple):
    """A class of failure, as its file says."""

    code: str  # such as host-memory
    title: str  # what fails, in one line
    page: str  # what happens, how it shows, what misleads, more on the cure, and the sources
    signs: tuple[Sign, ...]
    cure: str  # what to do, in one line; groups of a pattern are in braces
    misleads: str  # what looks like the cause, and is not
    explains: frozenset[str]  # the codes of its consequences, when both are seen
    traits: frozenset[str]  # names of TRAITS


def codes() -> list[str]:
    """The codes of all classes, sorted; none is imported."""
    names = os.listdir(os.path.dirname(__file__))
    modules = (n.removesuffix(".py") for n in names if n.endswith(".py") and n != "__init__.py")
    return sorted(name.replace("_", "-") for name in modules)


@cache
def classes() -> dict[str, FailureClass]:
    """All classes by their codes, sorted."""
    return {code: _read(code) for code in codes()}


@cache
def codes_with(trait: str) -> frozenset[str]:
    """The codes of the classes that have a trait."""
    return frozenset(code for code, each in classes().items() if trait in each.traits)


def _read(code: str) -> FailureClass:
    module = import_module(f"{__name__}.{code.replace('-', '_')}")
    title, *page = (module.__doc__ or "").strip().split("\n\n")
    explains, traits = (getattr(module, name, "").split() for name in ("EXPLAINS", "TRAITS"))
    return FailureClass(
        code,
        title.rstrip("."),
        "\n\n".join(part for part in page if not part.startswith((_CURE, _MISLEADS))),
        tuple(read_signs(module.SIGNS)),
        _advice(page, _CURE),
        _advice(page, _MISLEADS),
        frozenset(explains),
        frozenset(traits),
    )


def _advice(page: list[str], mark: str) -> str:
    """The paragraph that begins so, in one line."""
    return next(" ".join(p.removeprefix(mark).split()) for p in page if p.startswith(mark))
