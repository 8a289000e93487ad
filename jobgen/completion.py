"""Completion in bash, zsh and fish: of what plans a job at once, of all else by click."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from jobgen import names
from jobgen.job import RANKS, doing, options
from jobgen.overview import PLANNING
from jobgen.write import write

VARIABLE = "_JOBGEN_COMPLETE"


class Item(NamedTuple):
    """What is offered; of the kind `file`, the shell looks for what begins with `value`."""

    value: str
    kind: str = "plain"
    help: str = ""


_NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "PROFILE": names.profiles,
    "TRAINER": names.trainers,
    "TEMPLATE": names.templates,
    "CODE": names.rules,
}


def values(metavar: str, incomplete: str) -> list[Item]:
    """What can go on from `incomplete` where the help says `metavar`; see `Option`."""
    kinds = re.findall("[A-Z]+", metavar)
    offered = [name for kind in kinds for name in _NAMES.get(kind, tuple)()]
    if "/" not in incomplete:  # most of what is in a folder is only a base for others
        offered = [name for name in offered if "/" not in name]
    if metavar.islower():
        before = incomplete[: incomplete.rfind(",") + 1] if "," in metavar else ""
        offered = [before + word for word in re.split("[|,]", metavar)]
    # Names that a shell would read otherwise are left out: they would have to be quoted.
    fit = (name for name in offered if re.fullmatch(r"[\w./@%+=,-]+", name))
    found = [Item(name) for name in fit if name.startswith(incomplete)]
    if "FILE" in kinds or "PROGRAM" in kinds:
        found.append(Item(incomplete, "file"))
    return found


def answer() -> int:
    """Print what can go on from the command line that a shell tells in the environment.

    Whatever goes wrong, nothing is said: it would garble the line that is being typed.
    """
    try:
        shell, _, _ = os.environ[VARIABLE].partition("_")
        words, incomplete = _ASKED[shell]()
        if words and words[0] in PLANNING:
            found = list(_of_a_job(words[0], words[1:], incomplete))
        else:
            from jobgen.shells import offers

            found = offers(words, incomplete)
        option, equals, _ = incomplete.partition("=")
        if equals and option.startswith("--") and "--" not in words and shell != "bash":
            # To these shells, --profile=NAME is one word.
            found = [item._replace(value=f"{option}={item.value}") for item in found]
        write("\n".join(_SHOWN[shell](item) for item in found) + "\n")
    except (Exception, KeyboardInterrupt):
        return 1
    return 0


def _of_a_job(command: str, words: list[str], incomplete: str) -> Iterator[Item]:
    """What goes on in a command whose options are the rows of Job."""
    rows = [row for _, row in (*options(command), *doing(command).items())]
    by_flag = {flag: row for row in rows for flag in row.flags}
    said: set[str] = set()
    pending = None
    for word in words:
        flag = word.partition("=")[0]
        if pending:
            pending = None
        elif word == "--" or not word.startswith("-"):
            yield Item(incomplete, "file")  # the program has begun
            return
        elif row := by_flag.get(flag):
            said.update(row.flags if not row.many else ())
            pending = row if row.metavar and flag == word else None
    flag, equals, value = incomplete.partition("=")
    if pending:
        yield from values(pending.metavar, incomplete)
    elif equals and flag in by_flag:
        yield from values(by_flag[flag].metavar, value)
    elif incomplete.startswith("-"):
        helps = {flag: row.help for flag, row in by_flag.items() if flag not in said}
        helps |= dict.fromkeys(("-h", "--help"), "Show this message and exit.")
        yield from (Item(f, help=text) for f, text in helps.items() if f.startswith(incomplete))
    elif command in RANKS:
        yield from values("PROGRAM", incomplete)


def _split(line: str) -> list[str]:
    """The words of a line; the last one may still be in open quotes."""
    import shlex

    reader = shlex.shlex(line, posix=True)
    reader.whitespace_split = True
    reader.commenters = ""
    found: list[str] = []
    try:
        found.extend(reader)
    except ValueError:
        found.append(reader.token)
    return found


def _asked_by_bash() -> tuple[list[str], str]:
    # With a letter more, the word to complete is the last one, be it empty or in open quotes.
    *words, last = _split(os.environ["COMP_WORDS"] + "x")
    return words[1:], last[:-1]


def _asked_by_zsh() -> tuple[list[str], str]:
    words, at = _split(os.environ["COMP_WORDS"]), int(os.environ["COMP_CWORD"])
    return words[1:at], words[at] if at < len(words) else ""


def _asked_by_fish() -> tuple[list[str], str]:
    _, *words = _split(os.environ["COMP_WORDS"])
    (incomplete, *_) = _split(os.environ["COMP_CWORD"]) or [""]
    if incomplete and words and words[-1] == incomplete:
        words.pop()
    return words, incomplete


def _shown_in_zsh(item: Item) -> str:
    value = item.value.replace(":", r"\:") if item.help else item.value  # for _describe
    return f"{item.kind}\n{value}\n{item.help or '_'}"


_ASKED = {"bash": _asked_by_bash, "zsh": _asked_by_zsh, "fish": _asked_by_fish}
_SHOWN: dict[str, Callable[[Item], str]] = {
    "bash": lambda item: f"{item.kind},{item.value}",
    "zsh": _shown_in_zsh,
    "fish": lambda item: f"{item.kind},{item.value}" + (f"\t{item.help}" if item.help else ""),
}
