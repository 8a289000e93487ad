"""What every rank runs: a packaged trainer, or the user's own program with its arguments."""

import re
from typing import NamedTuple

from jobgen import trainers
from jobgen.errors import problem
from jobgen.quoting import quote


class Program(NamedTuple):
    """`kind` is trainer, script (Python), module (Python) or command; `source` a trainer's text."""

    kind: str
    name: str
    arguments: tuple[str, ...] = ()
    source: str = ""

    @property
    def has_dashes(self) -> bool:
        """Whether an argument looks like an option, also to the launcher of the program."""
        return any(word.startswith("-") for word in self.arguments)


def make_program(words: tuple[str, ...], trainer: str, trainer_given: bool, place: str) -> Program:
    """The program for the words after `--`; without words, the trainer.

    With `trainer_given` by the user, the words are the trainer's arguments; `place` is where it
    was named. Raises JobgenError for words that cannot be passed to a rank.
    """
    if any("\0" in word for word in words):
        raise problem("--", "an argument contains a NUL character", "value", "remove it")
    if trainer_given and words and words[0].endswith(".py"):
        hint = "with --trainer, only arguments for it follow `--`"
        raise problem("--trainer", f"a trainer, and the program {words[0]!r:.80}", "conflict", hint)
    if trainer_given or not words:
        return Program("trainer", trainer, words, trainers.source(trainer, place))
    if words[0] == "-m":
        if len(words) == 1 or words[1].startswith("-"):
            raise problem("--", "-m without a module", "usage", "-m PACKAGE.MODULE")
        if words[1].endswith(".py"):
            hint = f"write -- {quote(words[1])}, or a module: -- -m {quote(words[1][:-3])}"
            raise problem("--", f"-m with the file {words[1]!r:.80}", "usage", hint)
        return Program("module", words[1], words[2:])
    if words[0].endswith((".pbs", ".sbatch", ".slurm")):
        hint = "jobgen writes that script: give the program in it, such as -- train.py"
        raise problem("--", f"{words[0]!r:.80} is a script for a scheduler", "usage", hint)
    if not words[0] or words[0].startswith("-"):
        hint = "a script, a command, or -m MODULE"
        raise problem("--", f"{words[0]!r:.80} is not a program", "usage", hint)
    return Program("script" if words[0].endswith(".py") else "command", words[0], words[1:])


def escape_macros(word: str) -> str:
    """A word as torchrun must be given it to pass it on unchanged.

    torchrun replaces $local_rank by the rank and $$ by $ (torch/distributed/elastic/utils/api.py,
    `macros.substitute`: a string.Template).
    """
    has_macro = "$" in word and re.search(r"\$(\$|local_rank|\{local_rank\})", word)
    return word.replace("$", "$$") if has_macro else word
