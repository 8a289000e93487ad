"""Completion in bash, zsh and fish, by click: the values to offer, and the script for bash."""

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

VARIABLE = "_JOBGEN_COMPLETE"  # the variable by which a shell asks the program for completion


def _names(kind: str) -> Iterable[str]:
    """The names that a metavar such as PROFILE stands for; none for other metavars."""
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
    """The values that begin with `incomplete`, for an option with a metavar; see `Option`."""
    kinds = re.findall("[A-Z]+", metavar)
    offers = [name for kind in kinds for name in _names(kind)]
    if "/" not in incomplete:
        # Profiles in other folders are bases for profiles, which are offered once a / is typed.
        offers = [name for name in offers if "/" not in name or name.startswith("sites/")]
    if metavar.islower():
        before = incomplete[: incomplete.rfind(",") + 1] if "," in metavar else ""
        offers = [before + word for word in re.split("[|,]", metavar)]
    # Names that a shell needs in quotes are not offered.
    plain = (name for name in offers if re.fullmatch(r"[\w./@%+=,-]+", name))
    found = [CompletionItem(name) for name in dict.fromkeys(plain) if name.startswith(incomplete)]
    if "FILE" in kinds or "PROGRAM" in kinds:
        found.append(CompletionItem(incomplete, "file"))
    return found


# The function passes the whole line, since bash splits words at `=` and `:`, such as 1:30:00.
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
        # With an added letter, the word to complete is always the last one, even if it is empty or
        # in quotes.
        *words, last = split_arg_string(os.environ["COMP_WORDS"] + "x")
        return words[1:], last[:-1]


_SHELLS: dict[str, type[ShellComplete]] = {"bash": _Bash, "zsh": ZshComplete, "fish": FishComplete}


def source_script(shell: str, commands: Command) -> str:
    """The script that turns completion on in bash, zsh or fish."""
    return _SHELLS[shell](commands, {}, "jobgen", VARIABLE).source()


def complete(commands: Command) -> int:
    """Write the completions of the command line that a shell passes in the environment.

    Errors are not reported: a message would damage the line that the user is typing.
    """
    try:
        name = os.environ[VARIABLE].partition("_")[0]
        shell = _SHELLS[name](commands, {}, "jobgen", VARIABLE)
        words, incomplete = shell.get_completion_args()
        found = shell.get_completions(words, incomplete)
        option, equals, _ = incomplete.partition("=")
        if equals and option.startswith("--") and "--" not in words and name != "bash":
            for item in found:  # zsh and fish read --profile=NAME as one word
                item.value = f"{option}={item.value}"
        write("\n".join(map(shell.format_completion, found)) + "\n")
    except (Exception, KeyboardInterrupt):
        return 1
    return 0
