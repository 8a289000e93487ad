"""Errors in the words of Python: their places are arguments, where the command line has options."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from jobgen.errors import JobgenError, Problem
from jobgen.planning.job_options import OPTIONS

_ARGUMENTS = {flag: name for name, row in OPTIONS.items() for flag in row.flags} | {"--": "program"}


@contextmanager
def errors_name_arguments() -> Iterator[None]:
    """Let errors name arguments."""
    try:
        yield
    except JobgenError as error:
        if not error.problems:
            raise
        raise JobgenError(with_arguments(error.problems), error.exit_code) from None


def with_arguments(problems: Iterable[Problem]) -> list[Problem]:
    """The problems, each at an argument if it is at an option."""
    return [
        each._replace(mark=each.mark._replace(file=_place(each.mark.file)))
        if not each.mark.line
        else each
        for each in problems
    ]


def _place(place: str) -> str:
    option, _, path = place.partition(" ")
    if option == "--set" and path:
        return f"set_values: {path}"
    return place if path else _ARGUMENTS.get(option, option)
