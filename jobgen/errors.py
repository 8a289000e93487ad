"""Errors that a person can cause: the texts, the places, and the one function that reports them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from jobgen.bounds import MESSAGE_CHARACTERS, PROBLEMS_SHOWN, WORD_CHARACTERS, WORDS_COMPARED

USAGE = 2  # the exit status for wrong usage or input
INTERRUPTED = 130  # what a shell shows for a command that SIGINT ended
CLOSED_PIPE = 141  # what a shell shows for a command that SIGPIPE ended


class Mark(NamedTuple):
    """A place in the input: a file with its 1-based line and column, or an option (line 0)."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


class Edit(NamedTuple):
    """The right text from a place to just before another place (1-based lines and columns).

    Column 0 of line 1 is a byte order mark, which counts as no character of the line.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


class _Problem(NamedTuple):
    mark: Mark
    text: str
    code: str
    hint: str = ""
    end: tuple[int, int] = (0, 0)
    edits: tuple[Edit, ...] = ()


class Problem(_Problem):
    """One problem in the input. `hint` says what would be right; `code` names the problem's kind.

    `end` is the line and column after the wrong text, if they are known. All `edits` together mend
    the problem, and change nothing else; there are none if a person has to decide.

    Text and hint are shortened to MESSAGE_CHARACTERS: a file may cause thousands of problems, each
    of which quotes it.
    """

    __slots__ = ()

    def __new__(cls, mark: Mark, text: str, code: str, hint: str = "", **more: Any) -> Problem:
        return super().__new__(cls, mark, _shortened(text), code, _shortened(hint), **more)

    def __str__(self) -> str:
        hint = f"; {self.hint}" if self.hint else ""
        return printable(f"{_shortened(str(self.mark))}: {self.text}{hint} [{self.code}]")


def _shortened(text: str) -> str:
    return text if len(text) <= MESSAGE_CHARACTERS else f"{text[: MESSAGE_CHARACTERS - 2]} …"


class JobgenError(Exception):
    """An error that the user can correct: a message, or problems with their places."""

    def __init__(self, message: str | Iterable[Problem], exit_code: int = USAGE) -> None:
        self.problems = [] if isinstance(message, str) else sorted(set(message))
        self.exit_code = exit_code
        lines = [message] if isinstance(message, str) else _lines(self.problems)
        super().__init__("\n".join(lines))


def _lines(problems: list[Problem]) -> list[str]:
    lines = [str(problem) for problem in problems[:PROBLEMS_SHOWN]]
    if (hidden := len(problems) - PROBLEMS_SHOWN) > 0:
        lines.append(f"and {hidden} more problems")
    return lines


class ClosedPipe(Exception):
    """Raised when the reader of stdout has ended."""


def problem(mark: Mark | str, text: str, code: str, hint: str = "") -> JobgenError:
    """The error for a single problem; `mark` may be the name of an option."""
    place = Mark(mark) if isinstance(mark, str) else mark
    return JobgenError([Problem(place, text, code, hint)])


def nearest_hint(word: str, words: Iterable[str]) -> str:
    """Returns a hint that names the nearest right word, or else the words that are right."""
    return _nearest_hint(word, tuple(sorted(set(words))))


@lru_cache(256)  # a file may have the same mistake in thousands of places
def _nearest_hint(word: str, words: tuple[str, ...]) -> str:
    from difflib import get_close_matches  # it takes a while to import

    is_short = len(words) <= WORDS_COMPARED and len(word) <= WORD_CHARACTERS
    longer = [f"`{each}`" for each in words if each.startswith(word)]
    if is_short and 1 < len(longer) <= 3:
        return f"did you mean {' or '.join(longer)}?"
    if is_short and (close := get_close_matches(word, words, n=1, cutoff=0.6)):
        return f"did you mean `{close[0]}`?"
    more = ", …" if len(words) > WORDS_COMPARED else ""
    return f"one of: {', '.join(words[:WORDS_COMPARED])}{more}"


def run_command(command: Callable[[], int]) -> int:
    """Run `command`; turn its errors into lines on stderr and an exit code."""
    try:
        return command()
    except JobgenError as error:
        report(str(error))
        return error.exit_code
    except ClosedPipe:
        return CLOSED_PIPE
    except OSError as error:  # for example, click's help on a full disk
        report(str(error) if _has_working_folder() else "the working folder was removed: cd to one")
        discard_stdout()
        return USAGE
    except (MemoryError, RecursionError) as error:
        report(excess_text(error))
        return USAGE
    except KeyboardInterrupt:
        report("interrupted")
        return INTERRUPTED


def excess_text(error: MemoryError | RecursionError) -> str:
    """Returns the message for input that needs more memory or depth than Python has."""
    if isinstance(error, MemoryError):
        return "the input needs more memory than there is"
    return "the input is nested too deep"


def _has_working_folder() -> bool:
    try:
        return bool(os.getcwd())
    except FileNotFoundError:
        return False


def discard_stdout() -> None:
    """Discard buffered output: Python flushes stdout at exit, and would fail a second time."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def report(text: str) -> None:
    """Write lines for the person to stderr; stdout is for the script alone."""
    if sys.stderr is None:  # it is closed; print would use stdout instead
        return
    for line in text.split("\n"):
        sys.stderr.write(f"jobgen: {printable(line)}\n")  # unbuffered: sbatch may write there, too


def report_lines(texts: Iterable[str]) -> None:
    """Write each of the texts as `report` does."""
    for text in texts:
        report(text)


def counted(count: int, noun: str) -> str:
    """A number with its noun: 1 file, 2 files."""
    return f"{count} {noun}{'s' * (count != 1)}"


def listed(names: Sequence[str], most: int) -> str:
    """Names as a text, the first ones of many: `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def in_bytes(size: int) -> str:
    """A number of bytes, in the unit that a person reads: 12 MB, 1.2 MB, 12 kB."""
    if size < 1e5:
        return f"{-(-size // 1000)} kB"  # a file of a few bytes is not nothing
    return f"{size / 1e6:.{int(size < 10_000_000)}f} MB"


def printable(text: str) -> str:
    """Returns `text` with escapes for characters that move a cursor or cannot be encoded."""
    if text.isprintable():
        return text
    escaped = "".join(c if c.isprintable() or c == " " else repr(c)[1:-1] for c in text)
    return escaped.encode("utf-8", "backslashreplace").decode("utf-8")
