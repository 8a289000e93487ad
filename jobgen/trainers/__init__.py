"""The packaged trainers: each is one file that needs torch alone.

A script carries the whole text of its trainer. Not here: how the ranks are started (scripts/).
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jobgen.errors import nearest_hint, problem

FOLDER = Path(__file__).parent


@cache  # they come with jobgen, and do not change while it runs
def names() -> list[str]:
    """The names of the packaged trainers, sorted."""
    return sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def source(name: str, place: str = "jobgen trainers") -> str:
    """The text of a trainer. Raises JobgenError for an unknown name, which was given at `place`."""
    if name not in names():
        raise problem(place, f"no trainer `{name:.80}`", "no-trainer", nearest_hint(name, names()))
    return _text(FOLDER / f"{name}.py")


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def summary(name: str) -> str:
    """The first line of a trainer's docstring."""
    return source(name).split("\n", 1)[0].strip('"')
