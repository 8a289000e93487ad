"""The packaged trainers: a script carries each as one file that needs torch alone.

A module here is a trainer. What several of them use is in shared/, the parts of doctor are in
checkup/; `jobgen.one_file` puts a trainer and its modules into one file. Not here: how the ranks
are started (scripts/).
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


@cache
def source(name: str, place: str = "jobgen trainers") -> str:
    """The text of a trainer. Raises JobgenError for an unknown name, which was given at `place`."""
    if name not in names():
        raise problem(place, f"no trainer `{name:.80}`", "no-trainer", nearest_hint(name, names()))
    from jobgen.one_file import one_file  # not where only names are asked for, as by completion

    return one_file(f"jobgen.trainers.{name}", FOLDER.parent.parent)


def summary(name: str) -> str:
    """The first line of a trainer's docstring."""
    return source(name).split("\n", 1)[0].strip('"')
