"""Completion in bash, zsh and fish, by click: what it offers, and how bash passes a line."""

import os
import re
from collections.abc import Iterable

from click import Command
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    FishComplete,
    ShellComplete,
    ZshComplete,
    split_arg_string,
)

from jobgen import trainers
from jobgen.diagnosis import classes
from jobgen.paths import bundled
from jobgen.profiles.search import profile_files
from jobgen.scripts.write import write

VARIABLE = "_JOBGEN_COMPLETE"  # tells the program that a shell asks for completion


def _names(kind: str) -> Iterable[str]:
    """The names that a word in capitals of a metavar stands for, if it stands for names."""
    if kind == "PROFILE":
        return profile_files()
    if kind == "TRAINER":
        return trainers.names()
    if kind == "TEMPLATE":
        return sorted(path.name for path in bundled("templates").glob("*.j2"))
    if kind == "CODE":
        from jobgen.lint import rules

        return rules.checks()
    if kind == "CLASS":
        return classes.codes()
    if kind == "KEY":
        from jobgen.profiles.model import ROOT
        from jobgen.profiles.records import keys_of

        paths = [key.path for key in keys_of(ROOT.cls)]
        return [*paths, *(path.partition(".")[0] for path in paths)]
    return ()


def values(metavar: str, incomplete: str) -> list[CompletionItem]:
    """What can continue `incomplete` for an option with that metavar; see `Option`."""
    kinds = re.findall("[A-Z]+", metavar)
    offers = [name for kind in kinds for name in _names(kind)]
    if "/" not in incomplete:
        # Of the profiles in a folder, all but the sites are bases for others.
        offers = [name for name in offers if "/" not in name or name.startswith("sites/")]
    if metavar.islower():
        before = incomplete[: incomplete.rfind(",") + 1] if "," in metavar else ""
        offers = [before + word for word in re.split("[|,]", metavar)]
    # Names that would need quotes in a shell are not offered.
    plain = (name for name in offers if re.fullmatch(r"[\w./@%+=,-]+", name))
    found = [CompletionItem(name) for name in dict.fromkeys(plain) if name.startswith(incomplete)]
    if "FILE" in kinds or "PROGRAM" in kinds:
        found.append(CompletionItem(incomplete, "file"))
    return found


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


class _Bash(BashComplete):
    source_template = _BASH_SOURCE

    def get_completion_args(self) -> tuple[list[str], str]:
        # With one more letter, the word to complete is the last one, even if it is empty or in
        # quotes.
        *words, last = split_arg_string(os.environ["COMP_WORDS"] + "x")
        return words[1:], last[:-1]


_SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": ZshComplete, "fish": FishComplete}


def source_script(shell: str, commands: Command) -> str:
    """The script for bash, zsh or fish that turns completion on."""
    return _SHELLS[shell](commands, {}, "jobgen", VARIABLE).source()


def complete(commands: Command) -> int:
    """Write what can continue the command line that a shell passes in the environment.

    There are no messages: they would damage the line that is being typed.
    """
    try:
        name = os.environ[VARIABLE].partition("_")[0]
        shell = _SHELLS[name](commands, {}, "jobgen", VARIABLE)
        words, incomplete = shell.get_completion_args()
        found = shell.get_completions(words, incomplete)
        option, equals, _ = incomplete.partition("=")
        if equals and option.startswith("--") and "--" not in words and name != "bash":
            for item in found:  # to these shells, --profile=NAME is one word
                item.value = f"{option}={item.value}"
        write("\n".join(map(shell.format_completion, found)) + "\n")
    except (Exception, KeyboardInterrupt):
        return 1
    return 0
