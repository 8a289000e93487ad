"""The packaged trainers: each a single file that needs torch alone."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jobgen import names
from jobgen.errors import problem
from jobgen.schema import nearest


def source(name: str, where: str = "jobgen trainers") -> str:
    """The text of a trainer; for a name that is none, JobgenError names `where` it was said."""
    if name not in names.trainers():
        hint = nearest(name, names.trainers())
        raise problem(where, f"no trainer `{name:.80}`", "no-trainer", hint)
    return _text(names.TRAINERS / f"{name}.py")


@cache
def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def summary(name: str) -> str:
    """The first line of what a trainer says of itself."""
    return source(name).split("\n", 1)[0].strip('"')
