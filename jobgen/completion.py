"""Completion in bash, zsh and fish: click's own, made to fit what jobgen's options take."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable

from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    split_arg_string,
)

from jobgen import names
from jobgen.cli import main
from jobgen.write import write

VARIABLE = "_JOBGEN_COMPLETE"


class _Bash(BashComplete):
    """Goes by the line: bash cuts its words at `=` and `:`, as in -t 1:30:00 or --profile=NAME."""

    source_template = """\
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

    def get_completion_args(self) -> tuple[list[str], str]:
        # With a letter more, the word to complete is the last one, be it empty or in open quotes.
        *words, last = split_arg_string(os.environ["COMP_WORDS"] + "x")
        return words[1:], last[:-1]


class _WholeWords(ShellComplete):
    """For shells to which --profile=NAME is one word: what is offered begins with --profile=."""

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        found = super().get_completions(args, incomplete)
        option, equals, _ = incomplete.partition("=")
        if equals and option.startswith("--") and "--" not in args:
            for item in found:
                item.value = f"{option}={item.value}"
        return found


class _Zsh(_WholeWords, ZshComplete):
    pass


class _Fish(_WholeWords, FishComplete):
    pass


_SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": _Zsh, "fish": _Fish}

_NAMES: dict[str, Callable[[], Iterable[str]]] = {
    "PROFILE": names.profiles,
    "TRAINER": names.trainers,
    "TEMPLATE": names.templates,
    "CODE": names.rules,
}


def values(metavar: str, incomplete: str) -> list[CompletionItem[str]]:
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
    found = [CompletionItem(name) for name in fit if name.startswith(incomplete)]
    if "FILE" in kinds or "PROGRAM" in kinds:
        found.append(CompletionItem(incomplete, type="file"))
    return found


def script(shell: str) -> str:
    """What `shell` (bash, zsh or fish) has to source."""
    return _SHELLS[shell](main, {}, "jobgen", VARIABLE).source()


def answer() -> int:
    """Print what can go on from the command line that a shell tells in the environment.

    Whatever goes wrong, nothing is said: it would garble the line that is being typed.
    """
    try:
        shell, _, _ = os.environ[VARIABLE].partition("_")
        found = _SHELLS[shell](main, {}, "jobgen", VARIABLE).complete()
        write(f"{found}\n")
    except (Exception, KeyboardInterrupt):
        return 1
    return 0
