"""Jinja's environments, and the filters that turn values into quoted shell text.

A plain environment is for jobgen's own templates, a sandbox for all others. Compiled templates are
kept, since compiling takes as long as everything else.
"""

import hashlib
import re
import stat
import sys
import textwrap
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket
from jinja2.sandbox import ImmutableSandboxedEnvironment

from jobgen.paths import effective_user, user_folder
from jobgen.planning.program import escape_macros
from jobgen.quoting import escape_unseen, quote, quote_path, quote_with_shell

WIDTH = 100  # columns of a script


class Raw(str):
    """Shell text that is not quoted again."""


def print_value(value: Any) -> str:
    """Returns what `{{ value }}` prints: one quoted word. Raises TypeError for other types."""
    if isinstance(value, Raw):
        return value
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, jinja2.Undefined):
        return str(value)  # raises UndefinedError
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise TypeError(f"{type(value).__name__} is printed, not text or a number")


def _words(values: Iterable[Any], joint: str = "", first: int = 4) -> Raw:
    """Returns quoted words, joined by blanks; with a `joint` such as a backslash, several lines.

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


def _placed(values: Iterable[str], node: str, nodes: str, processes: int, index: str) -> list[Raw]:
    """Replaces %n, %N and others in the words of a node's program; %% is a %, any other % stays.

    `node`, `nodes` and, in an array, `index` are the variables for %n, %N and %a, such as `$node`.
    """
    variables = {"%n": node, "%N": nodes, "%h": "$head", "%p": "$port"}
    variables |= {"%a": index} if index else {}
    # Before a port, an address of IPv6 is in brackets.
    pieces = {"%h:": '"${head/*:*/[$head]}":'}
    pieces |= {name: f'"{variable}"' for name, variable in variables.items()}
    everywhere = f'"$(({nodes.removeprefix("$")} * {processes}))"'
    pieces |= {"%g": str(processes), "%G": everywhere, "%%": "%"}
    return [Raw(quote_with_shell(value, pieces)) for value in values]


def _array(words: Iterable[str]) -> Raw:
    """Returns words for a bash array, in which `$NAME` is a variable of the node.

    A word with a comma is quoted: in an array it looks like a mistake, also to shellcheck.
    """
    pairs = ((word, quote_path(word)) for word in words)
    return Raw(" ".join(f"'{it}'" if it == word and "," in word else it for word, it in pairs))


def _each(word_of: Callable[..., str]) -> Callable[..., list[Raw]]:
    """Returns a filter that turns each value of a list into a word of shell text."""
    return lambda values, *more: [Raw(word_of(value, *more)) for value in values]


@lru_cache  # many scripts have the same comments
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
    # shellcheck takes a comment that begins with its name for a directive of its own.
    return Raw(re.sub(r"^( *#) (?=shellcheck)", r"\1 - ", "\n".join(lines), flags=re.MULTILINE))


def _because(line: str, why: str) -> Raw:
    """Returns a line of code with its reason: behind the line if there is room, else above it."""
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
    "shell": _each(str),
    "flags": _each(lambda value, flag: quote(f"{flag}{value}")),
    "path_flags": _each(lambda value, flag: f"{flag}{quote_path(value)}"),
    "array": _array,
    # %a becomes the variable that has the number of a job in its array.
    "indexed": lambda words, name: Raw(
        " ".join(quote_with_shell(word, {"%a": f'"${name}"'}) for word in words)
    ),
    "placed": _placed,
    "path": lambda text: Raw(quote_path(text)),
    "verbatim": escape_macros,
    "comment": _comment,
    "because": _because,
    "dedent": lambda text: Raw(textwrap.dedent(text)),
}


# Compiled templates depend on these files, too: their constants are quoted already.
_SOURCES = ("scripts/jinja_environments.py", "quoting.py")
_COMPILED: dict[tuple[str, str, str], bytes] = {}
_COMPILED_MOST = 256  # the most templates in memory


class Environment(jinja2.Environment):
    """For jobgen's own templates; `used` lists those of a script, with all that they include."""

    # Joins the pieces of a block, a macro or `super()`: text of a template, which is not quoted.
    concat = staticmethod(lambda pieces: Raw("".join(pieces)))

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.used: list[str] = []

    def get_template(self, name: Any, *others: Any, **more: Any) -> jinja2.Template:
        self.used.append(str(name))
        return super().get_template(name, *others, **more)


class SandboxedEnvironment(Environment, ImmutableSandboxedEnvironment):
    """For templates of a project, of a user, or of --template: they cannot run Python code."""


class _InMemory(jinja2.BytecodeCache):
    """Keeps the templates that this process has compiled, by their text."""

    def __init__(self, kind: str) -> None:
        self.kind = kind  # the kind of environment, on which the code depends

    def load_bytecode(self, bucket: Bucket) -> None:
        if code := _COMPILED.get((self.kind, bucket.key, bucket.checksum)):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if len(_COMPILED) >= _COMPILED_MOST:
            _COMPILED.clear()
        _COMPILED[self.kind, bucket.key, bucket.checksum] = bucket.bytecode_to_string()


class _InCache(jinja2.FileSystemBytecodeCache):
    """Keeps compiled templates in files, for the same jobgen, the same Jinja and the same text.

    A template that cannot be read or kept there is compiled each time, without a message. No code
    is read from a folder that somebody else could write to.
    """

    def __init__(self, kind: str) -> None:
        folder = user_folder("XDG_CACHE_HOME", ".cache")
        super().__init__(str(folder), f"%s.{kind}.{sys.implementation.cache_tag}")
        self.is_private = _is_private(folder)
        package = Path(__file__).parent.parent
        sources = b"".join((package / name).read_bytes() for name in _SOURCES)
        self.version = jinja2.__version__.encode() + sources

    def get_source_checksum(self, source: str) -> str:
        return hashlib.sha256(self.version + source.encode("utf-8")).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            if self.is_private:
                super().load_bytecode(bucket)
        except Exception:  # the file may hold anything
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            if self.is_private:
                super().dump_bytecode(bucket)


def _is_private(folder: Path) -> bool:
    """Whether only the user can write to the folder; creates it if the user's home exists."""
    try:
        if folder.parents[1].is_dir():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    is_own = stat.S_ISDIR(state.st_mode) and state.st_uid == effective_user()
    return is_own and not state.st_mode & others


_STRICT: dict[str, Any] = {
    "undefined": jinja2.StrictUndefined,
    "trim_blocks": True,
    "lstrip_blocks": True,
    "keep_trailing_newline": True,
}


def html_environment(folder: Path, **options: Any) -> jinja2.Environment:
    """The environment for the templates of a page, in which each value is escaped."""
    loader = jinja2.FileSystemLoader(folder)
    return jinja2.Environment(loader=loader, autoescape=True, **_STRICT, **options)


def make_environment(
    loader: jinja2.BaseLoader, is_own: bool, in_memory: bool = False
) -> Environment:
    """Returns the environment for jobgen's own templates, or the sandbox for all others.

    With `in_memory`, no compiled template is read from a file, or written to one.
    """
    kind = Environment if is_own else SandboxedEnvironment
    compiled = _InMemory if in_memory else _InCache
    environment = kind(
        loader=loader,
        finalize=print_value,
        bytecode_cache=compiled("own" if is_own else "sandboxed"),
        **_STRICT,
    )
    environment.filters.update(FILTERS)
    # Without `random` and `lipsum`, a template gives the same script each time.
    del environment.filters["random"], environment.globals["lipsum"]
    return environment
