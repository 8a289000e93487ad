"""The directives of a job script, split into words as sbatch and qsub split them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from jobgen.lint.reader.commands import OUTER
from jobgen.lint.reader.sbatch_options import (
    OPTIONS,
    SHORT_WITH_VALUE,
    WITHOUT_VALUE,
    full_name,
)
from jobgen.schedulers.slurm_options import LONG_NAMES

# qsub(1B) allows blanks before #PBS, sbatch does not.
_PREFIX = re.compile(r"(#SBATCH)(?=\s|-)|\s*(#PBS)(?=\s)")
# GETOPT_ARGS in src/cmds/qsub_sup.c of OpenPBS, and in qsub_functions.c of Torque (E, n, x).
QSUB_WITHOUT_VALUE = "EIVXfhnxz"
# After one of these words, the directives are for the next part of a heterogeneous job.
_SEPARATORS = ("hetjob", "packjob")

# A word that is a part of one of these is no mistake: `<name>`, `...`, the value of a variable of
# the shell that writes the script, or `option_name=argument`.
_PLACEHOLDER = re.compile(rf"[{{}}<>\[\]…{OUTER}]|\.\.\.|^\s*-*option(_?name)?\b", re.IGNORECASE)

_Words = deque[tuple[str, int]]  # each with its column


@dataclass(frozen=True)
class Directive:
    """One option of a directive line; `option` is its long name, or its letter for PBS."""

    scheduler: str
    option: str
    value: str
    line: int
    column: int
    raw: str
    is_late: bool = False  # after the first command, where no scheduler reads it


@dataclass(frozen=True)
class StrayWord:
    """A word in a directive that is not an option."""

    scheduler: str
    text: str
    line: int
    column: int
    is_late: bool = False


def read_directives(
    lines: Sequence[str], first_command: int
) -> tuple[list[Directive], list[StrayWord]]:
    """All directives of a script, whose first command is on the line `first_command`."""
    directives: list[Directive] = []
    stray_words: list[StrayWord] = []
    for number, line in enumerate(lines, 1):
        if not (prefix := _PREFIX.match(line)):
            continue
        read_line = _slurm_directives if prefix[1] else _pbs_directives
        start, is_late = prefix.end(), number > first_command
        for record in read_line(line[start:], number, start + 1, is_late):
            if isinstance(record, StrayWord):
                stray_words.append(record)
            else:
                directives.append(record)
    return directives, stray_words


def command_line_directives(command: Sequence[str], line: int, column: int) -> list[Directive]:
    """The options of a command line of sbatch or qsub; their place is the command's.

    The value of a variable there is not known.
    """
    name, *options = command
    read_line = _slurm_directives if name.endswith("sbatch") else _pbs_directives
    text = re.sub(r"\$(\{.*?\}|\(.*?\)|\w+)", OUTER, " ".join(options))
    records = read_line(text, line, column, False)
    return [replace(each, column=column) for each in records if isinstance(each, Directive)]


def _slurm_directives(
    text: str, line: int, start: int, is_late: bool
) -> Iterator[Directive | StrayWord]:
    words = deque(_split(text, start))
    while words:
        word, column = words.popleft()
        if word.startswith("--") and len(word) > 2:
            name, value = _long_option(word, words)
        elif re.match("-[A-Za-z]", word):
            name, value = _short_option(word, words)
        elif word.lower() in _SEPARATORS:
            yield Directive("slurm", "hetjob", "", line, column, word, is_late)
            return
        else:
            if not _PLACEHOLDER.search(text):
                yield StrayWord("slurm", word, line, column, is_late)
            return
        yield Directive("slurm", name, value, line, column, word, is_late)


def _long_option(word: str, following: _Words) -> tuple[str, str]:
    """The full name and the value; a value that is a separate word is removed from `following`."""
    name, equals, value = word[2:].partition("=")
    name = full_name(name)
    if equals:
        return name, value
    if name in OPTIONS:
        return name, "" if name in WITHOUT_VALUE else _take(following)
    # A site may have added it, with or without a value.
    if following and not following[0][0].startswith("-"):
        following.popleft()
    return name, ""


def _short_option(word: str, following: _Words) -> tuple[str, str]:
    letter, value = word[1], word[2:]
    if letter in SHORT_WITH_VALUE and not value:
        value = _take(following)
    return LONG_NAMES.get(letter, letter), value


def _pbs_directives(
    text: str, line: int, start: int, is_late: bool
) -> Iterator[Directive | StrayWord]:
    words = deque(_split(text.replace("#", "\\#"), start))
    while words:
        word, column = words.popleft()
        if not re.match("-[A-Za-z]", word):
            yield StrayWord("pbs", word, line, column, is_late)
            return
        letter, value = word[1], word[2:]
        if letter not in QSUB_WITHOUT_VALUE and not value:
            value = _take(words)
        yield Directive("pbs", letter, value, line, column, word, is_late)


def _take(words: _Words) -> str:
    return words.popleft()[0] if words else ""


def _split(text: str, start: int) -> Iterator[tuple[str, int]]:
    """The words of a directive with their columns; a # ends the line.

    Quotes and backslashes count as in src/sbatch/opt.c, `_get_argument`; a backslash at the end is
    nothing.
    """
    if text.endswith("\\") and not text.endswith("\\\\"):
        text = text[:-1]
    position = 0
    while True:
        while position < len(text) and text[position].isspace():
            position += 1
        if position == len(text) or text[position] == "#":
            return
        begin = position
        word, position = _next_word(text, position)
        yield word, start + begin


def _next_word(text: str, position: int) -> tuple[str, int]:
    """The word that begins at a position, and the position after it."""
    word = quote = ""
    while position < len(text) and (quote or not text[position].isspace()):
        letter = text[position]
        if letter == "\\" and position + 1 < len(text):
            position += 1
            word += text[position]
        elif quote and letter == quote:
            quote = ""
        elif not quote and letter in "\"'":
            quote = letter
        elif not quote and letter == "#":
            break
        else:
            word += letter
        position += 1
    return word, position


def chunks(select: str) -> list[tuple[int, Mapping[str, str]]]:
    """The chunks of PBS's `select=N:a=b:c=d+…`, each with its count (pbs_resources(7B))."""
    found: list[tuple[int, Mapping[str, str]]] = []
    for chunk in select.split("+"):
        count, *resources = chunk.split(":")
        if "=" in count:
            count, resources = "1", [count, *resources]
        values = dict(resource.partition("=")[::2] for resource in resources)
        found.append((whole_number(count) or 1, values))
    return found


def whole_number(text: str) -> int | None:
    """The number that a text is; None if it is something else."""
    return int(text) if re.fullmatch("[0-9]{1,9}", text) else None
