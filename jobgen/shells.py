"""What click does for completion: the scripts that shells source, and all that plans no job."""

from __future__ import annotations

from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from jobgen.cli import main
from jobgen.completion import VARIABLE, Item


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


_SHELLS: dict[str, type[ShellComplete]] = {
    "bash": _Bash,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


def script(shell: str) -> str:
    """What `shell` (bash, zsh or fish) has to source."""
    return _SHELLS[shell](main, {}, "jobgen", VARIABLE).source()


def offers(words: list[str], incomplete: str) -> list[Item]:
    """What can go on from `incomplete`, after the words of a command line."""
    found = ShellComplete(main, {}, "jobgen", VARIABLE).get_completions(words, incomplete)
    return [Item(each.value, each.type, each.help or "") for each in found]
