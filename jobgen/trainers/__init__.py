"""The packaged trainers: each a single file that needs torch alone."""

from __future__ import annotations

from jobgen import names
from jobgen.errors import problem
from jobgen.schema import nearest


def source(name: str, where: str = "jobgen trainers") -> str:
    """The text of a trainer; for a name that is none, JobgenError names `where` it was said."""
    if name not in names.trainers():
        hint = nearest(name, names.trainers())
        raise problem(where, f"no trainer `{name:.80}`", "no-trainer", hint)
    return (names.TRAINERS / f"{name}.py").read_text(encoding="utf-8")


def summary(name: str) -> str:
    """The first line of what a trainer says of itself."""
    return source(name).split("\n", 1)[0].strip('"')
