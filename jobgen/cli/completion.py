"""Completion in bash, zsh and fish: of the commands that plan a job at once, of others by click."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from jobgen import trainers
from jobgen.cli.help import JOB_COMMANDS
from jobgen.cli.output_options import output_options
from jobgen.paths import bundled
from jobgen.planning.job_options import job_options
from jobgen.planning.option_row import RANKS
from jobgen.profiles.search import profile_files
from jobgen.scripts.write import write

if TYPE_CHECKING:
    from click import Command

VARIABLE = "_JOBGEN_COMPLETE"  # tells the program that a shell asks for completion


class Item(NamedTuple):
    """An offer; for the kind `file`, the shell searches files that begin with `value`."""

    value: str
    kind: str = "plain"
    help: str = ""


def _templates() -> list[str]:
    return sorted(path.name for path in bundled("templates").glob("*.j2"))


def _parts() -> Iterable[str]:
    from jobgen.cli.lookup.machinery import names

    return names()


def _rules() -> list[str]:
    from jobgen.lint.rules import codes

    return codes()


def _classes() -> list[str]:
    from jobgen.diagnosis.classes import codes

    return codes()


def _keys() -> list[str]:
    from jobgen.profiles.model import ROOT
    from jobgen.profiles.records import keys_of

    return [name for key in keys_of(ROOT.cls) for name in {key.path, key.path.partition(".")[0]}]


_NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "PROFILE": profile_files,
    "TRAINER": trainers.names,
    "TEMPLATE": _templates,
    "PART": _parts,
    "CODE": _rules,
    "CLASS": _classes,
    "KEY": _keys,
}


def values(metavar: str, incomplete: str) -> list[Item]:
    """What can continue `incomplete` for an option with that metavar; see `Option`."""
    kinds = re.findall("[A-Z]+", metavar)
    offers = [name for kind in kinds for name in _NAMES.get(kind, tuple)()]
    if (
        "/" not in incomplete and "PART" not in kinds
    ):  # of what is in a folder, all but the sites are bases for others
        offers = [name for name in offers if "/" not in name or name.startswith("sites/")]
    if metavar.islower():
        before = incomplete[: incomplete.rfind(",") + 1] if "," in metavar else ""
        offers = [before + word for word in re.split("[|,]", metavar)]
    # Names that would need quotes in a shell are not offered.
    plain = (name for name in offers if re.fullmatch(r"[\w./@%+=,-]+", name))
    found = [Item(name) for name in dict.fromkeys(plain) if name.startswith(incomplete)]
    if "FILE" in kinds or "PROGRAM" in kinds:
        found.append(Item(incomplete, "file"))
    return found


def complete(load_commands: Callable[[], Command]) -> int:
    """Write what can continue the command line that a shell passes in the environment.

    `load_commands` gives click's commands, for those that plan no job; importing click takes a
    while. There are no messages: they would damage the line that is being typed.
    """
    try:
        shell, _, _ = os.environ[VARIABLE].partition("_")
        words, incomplete = _READERS[shell]()
        if words and words[0] in JOB_COMMANDS:
            found = list(_job_items(words[0], words[1:], incomplete))
        else:
            found = _click_items(load_commands(), words, incomplete)
        option, equals, _ = incomplete.partition("=")
        if equals and option.startswith("--") and "--" not in words and shell != "bash":
            # To these shells, --profile=NAME is one word.
            found = [item._replace(value=f"{option}={item.value}") for item in found]
        write("\n".join(_WRITERS[shell](item) for item in found) + "\n")
    except (Exception, KeyboardInterrupt):
        return 1
    return 0


def _job_items(command: str, words: list[str], incomplete: str) -> Iterator[Item]:
    """The offers for a command whose options are rows."""
    rows = [row for _, row in (*job_options(command), *output_options(command).items())]
    by_flag = {flag: row for row in rows for flag in row.flags}
    used: set[str] = set()
    pending = None
    for word in words:
        flag = word.partition("=")[0]
        if pending:
            pending = None
        elif word == "--" or not word.startswith("-"):
            yield Item(incomplete, "file")  # the program has begun
            return
        elif row := by_flag.get(flag):
            used.update(row.flags if not row.repeatable else ())
            pending = row if row.metavar and flag == word else None
    flag, equals, value = incomplete.partition("=")
    if pending:
        yield from values(pending.metavar, incomplete)
    elif equals and flag in by_flag:
        yield from values(by_flag[flag].metavar, value)
    elif incomplete.startswith("-"):
        helps = {flag: row.help for flag, row in by_flag.items() if flag not in used}
        helps |= dict.fromkeys(("-h", "--help"), "Show this message and exit.")
        yield from (Item(f, help=text) for f, text in helps.items() if f.startswith(incomplete))
    elif command in RANKS:
        yield from values("PROGRAM", incomplete)


def _click_items(commands: Command, words: list[str], incomplete: str) -> list[Item]:
    from click.shell_completion import ShellComplete

    found = ShellComplete(commands, {}, "jobgen", VARIABLE).get_completions(words, incomplete)
    return [Item(each.value, each.type, each.help or "") for each in found]


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


def _read_bash() -> tuple[list[str], str]:
    # With one more letter, the word to complete is the last one, even if it is empty or in quotes.
    *words, last = _split(os.environ["COMP_WORDS"] + "x")
    return words[1:], last[:-1]


def _read_zsh() -> tuple[list[str], str]:
    words, at = _split(os.environ["COMP_WORDS"]), int(os.environ["COMP_CWORD"])
    return words[1:at], words[at] if at < len(words) else ""


def _read_fish() -> tuple[list[str], str]:
    _, *words = _split(os.environ["COMP_WORDS"])
    (incomplete, *_) = _split(os.environ["COMP_CWORD"]) or [""]
    if incomplete and words and words[-1] == incomplete:
        words.pop()
    return words, incomplete


def _write_zsh(item: Item) -> str:
    value = item.value.replace(":", r"\:") if item.help else item.value  # for _describe
    return f"{item.kind}\n{value}\n{item.help or '_'}"


_READERS = {"bash": _read_bash, "zsh": _read_zsh, "fish": _read_fish}
_WRITERS: dict[str, Callable[[Item], str]] = {
    "bash": lambda item: f"{item.kind},{item.value}",
    "zsh": _write_zsh,
    "fish": lambda item: f"{item.kind},{item.value}" + (f"\t{item.help}" if item.help else ""),
}

# Reads the line itself: bash cuts words at `=` and `:`, as in -t 1:30:00 or --profile=NAME.
_BASH_SOURCE = """\
%(complete_func)s() {
  local kind value
  COMPREPLY=()
  while IFS=, read -r kind value; do
    case $kind in
      plain) COMPREPLY+=("$value") ;;
      file) compopt -o default ;;
    esac
  done < <(COMP_WORDS=${COMP_LINE:0:COMP_POINT} %(complete_var)s=bash_complete "$1" 2> /dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""


def source_script(shell: str, commands: Command) -> str:
    """The script for bash, zsh or fish that turns completion on."""
    from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

    class Bash(BashComplete):
        source_template = _BASH_SOURCE

    classes: dict[str, type[ShellComplete]] = {
        "bash": Bash,
        "zsh": ZshComplete,
        "fish": FishComplete,
    }
    return classes[shell](commands, {}, "jobgen", VARIABLE).source()
