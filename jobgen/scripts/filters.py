"""The filters of templates: each makes quoted shell text of values."""

import re
import textwrap
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import jinja2

from jobgen.planning.program import escape_macros
from jobgen.quoting import escape_unseen, quote, quote_path, quote_with_index, quote_with_shell

WIDTH = 100  # columns of a script


class Raw(str):
    """Shell text that is not quoted again."""


def print_value(value: Any) -> str:
    """What `{{ value }}` writes: one quoted word. Raises TypeError for anything else."""
    if isinstance(value, Raw):
        return value
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, jinja2.Undefined):
        return str(value)  # which raises
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"{type(value).__name__} is printed, not text or a number")


def _words(values: Iterable[Any], joint: str = "", first: int = 4) -> Raw:
    """Quoted words, separated by blanks; with a `joint` such as a backslash, on several lines.

    Each line then has at most WIDTH columns; the first begins at column `first`, others at 4.
    """
    words = [print_value(value) for value in values]
    if not joint:
        return Raw(" ".join(words))
    lines: list[str] = [""]
    column = first
    for word in words:
        if lines[-1] and column + len(lines[-1]) + len(word) + len(joint) > WIDTH - 1:
            lines.append(word)
            column = 4
        else:
            lines[-1] = f"{lines[-1]} {word}".lstrip()
    return Raw(f"{joint.rstrip(' ')}\n    ".join(lines))


def _shell(texts: Iterable[str]) -> list[Raw]:
    """Words of a template that are shell text already."""
    return [Raw(text) for text in texts]


def _placed(values: Iterable[str], node: str, nodes: str, processes: int, index: str) -> list[Raw]:
    """The words of a program that runs once on each node; %% is a %, and any other % stays.

    `node`, `nodes` and, in an array, `index` are the variables for %n, %N and %a, such as `$node`.
    """
    variables = {"%n": node, "%N": nodes, "%h": "$head", "%p": "$port"}
    variables |= {"%a": index} if index else {}
    # Before a port, an address of IPv6 is in brackets.
    pieces = {"%h:": '"${head/*:*/[$head]}":'}
    pieces |= {name: f'"{variable}"' for name, variable in variables.items()}
    everywhere = f'"$(({nodes.removeprefix("$")} * {processes}))"'
    pieces |= {"%g": str(processes), "%G": everywhere, "%%": "%"}
    return _shell(quote_with_shell(value, pieces) for value in values)


def _flags(values: Iterable[str], flag: str) -> list[Raw]:
    return [Raw(quote(f"{flag}{value}")) for value in values]


def _path_flags(values: Iterable[str], flag: str) -> list[Raw]:
    return [Raw(f"{flag}{quote_path(value)}") for value in values]


def _array(words: Iterable[str]) -> Raw:
    """Words of a bash array, in which `$NAME` is the node's variable."""
    return Raw(" ".join(map(_array_word, words)))


def _array_word(word: str) -> str:
    """A comma is in quotes: in an array it looks like a mistake, also to shellcheck."""
    text = quote_path(word)
    return f"'{text}'" if text == word and "," in word else text


@lru_cache  # many scripts have the same ones
def _comment(text: str, indent: int = 0) -> Raw:
    """Comment lines of at most WIDTH columns."""
    first = " " * indent + "# "
    lines = [
        textwrap.fill(
            escape_unseen(line),
            WIDTH,
            initial_indent=first,
            subsequent_indent=first,
            break_long_words=False,
            break_on_hyphens=False,
        )
        for line in text.split("\n")
    ]
    # shellcheck takes a comment that begins with its name for its own.
    return Raw(re.sub(r"^( *#) (?=shellcheck)", r"\1 - ", "\n".join(lines), flags=re.MULTILINE))


def _because(line: str, why: str) -> Raw:
    """A line of code with its reason: behind it if there is room, else in lines above it."""
    if not why:
        return Raw(line)
    code = line.lstrip()
    indent = len(line) - len(code)
    if "\n" not in line + why and len(line) + len(why) + 4 <= WIDTH:
        return Raw(f"{line}  {_comment(why).lstrip()}")
    return Raw(f"{_comment(why, indent)}\n{line}")


FILTERS: dict[str, Callable[..., Any]] = {
    "raw": Raw,
    "words": _words,
    "shell": _shell,
    "flags": _flags,
    "path_flags": _path_flags,
    "array": _array,
    "indexed": lambda values, variable: Raw(
        " ".join(quote_with_index(value, variable) for value in values)
    ),
    "placed": _placed,
    "path": lambda text: Raw(quote_path(text)),
    "verbatim": escape_macros,
    "comment": _comment,
    "because": _because,
    "dedent": lambda text: Raw(textwrap.dedent(text)),
}
