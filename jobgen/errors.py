"""What a person did wrong, where, and the one place that reports it."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import NamedTuple

USAGE = 2
LONGEST = 1000  # characters of a message or a hint, which may show what is in a file
MOST_SHOWN = 50  # problems: all scripts of a matrix may have the same
TOO_MUCH = "it needs too much memory"
CLOSED_PIPE = 141  # what a shell shows for a command that SIGPIPE ended


class Mark(NamedTuple):
    """A place in the input: a file with 1-based line and column, or an option (line 0)."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class _Problem(NamedTuple):
    mark: Mark
    text: str
    code: str
    hint: str = ""


class Problem(_Problem):
    """One thing that is wrong. `hint` says what would be right; `code` names its kind.

    Text and hint are cut to LONGEST: there may be thousands, each with all of a file in it.
    """

    __slots__ = ()

    def __new__(cls, mark: Mark, text: str, code: str, hint: str = "") -> Problem:
        return super().__new__(cls, mark, _cut(text), code, _cut(hint))

    def __str__(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        return printable(f"{_cut(str(self.mark))}: {self.text}{hint} [{self.code}]")


def _cut(said: str) -> str:
    return said if len(said) <= LONGEST else f"{said[: LONGEST - 2]} …"


class JobgenError(Exception):
    """An error that the user can mend: a message, or problems with their places."""

    def __init__(self, message: str | Iterable[Problem], exit_code: int = USAGE) -> None:
        self.problems = [] if isinstance(message, str) else sorted(set(message))
        self.exit_code = exit_code
        lines = (
            [message] if isinstance(message, str) else list(map(str, self.problems[:MOST_SHOWN]))
        )
        if (more := len(self.problems) - MOST_SHOWN) > 0:
            lines.append(f"and {more} more problems")
        super().__init__("\n".join(lines))


class ClosedPipe(Exception):
    """Who read stdout has gone."""


def problem(mark: Mark | str, text: str, code: str, hint: str = "") -> JobgenError:
    """The error for a single problem; `mark` may be the name of an option."""
    where = Mark(mark) if isinstance(mark, str) else mark
    return JobgenError([Problem(where, text, code, hint)])


def handled(command: Callable[[], int]) -> int:
    """Run `command` and turn what goes wrong into lines on stderr and an exit code."""
    try:
        return command()
    except JobgenError as error:
        tell(str(error))
        return error.exit_code
    except ClosedPipe:
        return CLOSED_PIPE
    except OSError as error:  # of the help on a full disk, say: what jobgen writes is checked there
        tell(str(error) if _is_somewhere() else "the working folder is no longer there: cd to one")
        drop_stdout()
        return USAGE
    except (MemoryError, RecursionError) as error:  # as of what nobody would write by hand
        tell(excess(error))
        return USAGE
    except KeyboardInterrupt:
        tell("interrupted")
        return 130


def excess(error: MemoryError | RecursionError) -> str:
    """What is said where the input took more than Python has."""
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    return "it is nested too deep"


def _is_somewhere() -> bool:
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False


def drop_stdout() -> None:
    """Forget what could not be written: Python flushes stdout at exit, and would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def tell(text: str) -> None:
    """Say something to the person, on stderr: stdout is for the script alone."""
    if sys.stderr is None:  # closed; print would take stdout instead
        return
    for line in text.split("\n"):
        sys.stderr.write(f"jobgen: {printable(line)}\n")  # at once: sbatch may write there, too


def printable(text: str) -> str:
    """`text` with what would move a terminal's cursor, or not encode, written as escapes."""
    if text.isprintable():
        return text
    shown = "".join(c if c.isprintable() or c == " " else repr(c)[1:-1] for c in text)
    return shown.encode("utf-8", "backslashreplace").decode("utf-8")
