"""What every rank runs: a packaged trainer, or the user's own program with its arguments."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from jobgen import shell, trainers
from jobgen.errors import problem

# Linux takes 128 KiB for one variable (MAX_ARG_STRLEN, execve(2)), and the nodes get the
# program's words within one.
LONGEST_WORDS = 96 * 1024


class Program(NamedTuple):
    """`kind` is trainer, script (Python), module (Python) or command; `source` a trainer's text."""

    kind: str
    name: str
    arguments: tuple[str, ...] = ()
    source: str = ""

    @property
    def dashes(self) -> bool:
        """Whether an argument looks like an option, also to what starts the program."""
        return any(word.startswith("-") for word in self.arguments)


def program(words: tuple[str, ...], trainer: str, named: bool, where: str) -> Program:
    """The program for the words after `--`; without any, the trainer.

    `named` says that the user named the trainer: then the words are its arguments; `where` is the
    place it was named at. Raises JobgenError for words that no rank could be given.
    """
    if any("\0" in word for word in words):
        raise problem("--", "a NUL character", "value", "no program can be given one")
    if named and words and words[0].endswith(".py"):
        hint = "with --trainer, only arguments for it follow `--`"
        raise problem("--trainer", f"a trainer, and the program {words[0]!r:.80}", "conflict", hint)
    if named or not words:
        return Program("trainer", trainer, words, trainers.source(trainer, where))
    if words[0] == "-m":
        if len(words) == 1 or words[1].startswith("-"):
            raise problem("--", "-m without a module", "usage", "-m PACKAGE.MODULE")
        return Program("module", words[1], words[2:])
    if not words[0] or words[0].startswith("-"):
        hint = "a script, a command, or -m MODULE"
        raise problem("--", f"{words[0]!r:.80} is no program", "usage", hint)
    return Program("script" if words[0].endswith(".py") else "command", words[0], words[1:])


def check(what: Program, torchrun: bool, index: str) -> None:
    """Raise JobgenError for more words than a script can have, as they stand there.

    `torchrun` starts it; `index` is the variable of an array's number, if there is one.
    """
    words = (what.name, *what.arguments)
    if torchrun:
        words = tuple(map(verbatim, words))
    sizes = (len(shell.indexed(word, index).encode()) if index else length(word) for word in words)
    if (size := sum(size + 1 for size in sizes)) > LONGEST_WORDS:
        hint = f"at most {LONGEST_WORDS}: put the rest into a file"
        raise problem("--", f"the program and its arguments have {size} bytes", "limit", hint)


def verbatim(word: str) -> str:
    """A word as torchrun hands it on: it puts the rank for $local_rank, and one $ for two.

    torch/distributed/elastic/utils/api.py, `macros.substitute`: a string.Template.
    """
    told = "$" in word and re.search(r"\$(\$|local_rank|\{local_rank\})", word)
    return word.replace("$", "$$") if told else word


@lru_cache(4096)  # as for `quote`
def length(text: str) -> int:
    """The bytes of a text as it stands in a script."""
    return len(shell.quote(text).encode())
