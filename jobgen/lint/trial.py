"""Tries in a child process whether a text can be parsed within bounds of time and memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from jobgen.errors import JobgenError
from jobgen.limits import LINT_MEMORY, LINT_SECONDS
from jobgen.lint.files import unreadable


def ends_within_bounds(function: Callable[..., object], *arguments: Any) -> bool:
    """Whether a function ends within LINT_SECONDS and LINT_MEMORY.

    The parser of bash is written in C, and cannot be interrupted. A browser's page has no
    processes; it ends the worker in which all of this runs (jobgen/page).
    """
    if sys.platform == "emscripten":
        return True
    from jobgen.isolation import ChildEnded, ChildProcess

    def trial() -> None:  # the parent process wants no result
        function(*arguments)

    child = ChildProcess(trial, LINT_MEMORY, LINT_SECONDS)
    try:
        child.call()
    except JobgenError:  # the parent process raises it again
        pass
    except ChildEnded:
        return False
    child.stop()
    return True


def out_of_bounds(path: str, hint: str = "") -> JobgenError:
    """The error for a file that cannot be parsed within the bounds."""
    text = f"cannot be parsed within {LINT_SECONDS} s and {LINT_MEMORY >> 30} GiB"
    return unreadable(path, text, hint)
