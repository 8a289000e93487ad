"""The options on command lines of srun, salloc, sbatch and qsub, as directives."""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.reader.commands import Command, Word
from jobgen.lint.reader.directives import QSUB_WITHOUT_VALUE, Directive
from jobgen.lint.reader.sbatch_options import OPTIONS, SHORT_WITH_VALUE, WITHOUT_VALUE, full_name
from jobgen.schedulers.slurm_options import LONG_NAMES

SLURM_COMMANDS = frozenset(("srun", "salloc", "sbatch"))
# Options of srun that are not sbatch's, and take a value (srun(1)).
_OF_SRUN = frozenset(
    """
    bcast-exclude compress cpu-bind epilog het-group jobid mpi msg-timeout pack-group prolog
    relative slurmd-debug task-epilog task-prolog threads treewidth wait
    """.split()
)
_SRUN_LETTERS = {"r": "relative", "T": "threads"}


def slurm_options(command: Command) -> Iterator[Directive]:
    """The options of a command of Slurm, up to its program; those with variables have no value."""
    remaining = iter(command.words[1:])
    of_srun = _OF_SRUN if command.name == "srun" else frozenset()
    for word in remaining:
        if not word.text.startswith("-") or word.text == "--":
            return
        if word.text.startswith("--"):
            name, equals, value = word.text[2:].partition("=")
            name = name if name in of_srun else full_name(name)
            takes_word = name in of_srun or (name in OPTIONS and name not in WITHOUT_VALUE)
        else:
            letter, value, equals = word.text[1], word.text[2:], ""
            name = {**LONG_NAMES, **_SRUN_LETTERS}.get(letter, letter)
            takes_word = letter in SHORT_WITH_VALUE or letter in _SRUN_LETTERS
        if takes_word and not value and not equals:
            following = next(remaining, None)
            if following is None:
                return
            yield _option("slurm", name, following, following.text, word)
        elif value or equals:
            yield _option("slurm", name, word, value, word)


def qsub_options(command: Command) -> Iterator[Directive]:
    """The options of a qsub of PBS, up to the script."""
    remaining = iter(command.words[1:])
    for word in remaining:
        if not re.match("-[A-Za-z]", word.text):
            return
        letter, value = word.text[1], word.text[2:]
        if letter in QSUB_WITHOUT_VALUE:
            continue
        following = word if value else next(remaining, None)
        if following is None:
            return
        yield _option("pbs", letter, following, value or following.text, word)


def _option(scheduler: str, name: str, holder: Word, value: str, word: Word) -> Directive:
    """`holder` is the word that the value is in."""
    text = value if holder.is_literal else "$"
    return Directive(scheduler, name, text, word.line, word.column, word.text)
