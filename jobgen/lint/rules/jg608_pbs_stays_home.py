"""A PBS job never leaves the home folder."""

import re

from jobgen.lint.rules import Findings, Script, finding_at

# The home folder may be the right one.
OPTIONAL = True

_FOLDER_CHANGES = re.compile(r"\bcd\b|pushd|PBS_O_WORKDIR|PBS_O_INITDIR|-wdir|--chdir|\bsource\b")
_FILE = re.compile(
    r"\.{1,2}/.*|(?![-/~$]|\w+://|\w+=)[\w./-]+\.(py|sh|R|jl|m|exe|inp|in|dat|lmp|pl)"
)


def check(script: Script) -> Findings:
    if script.scheduler != "pbs" or not script.active_directives or script.directive("d", "w"):
        return
    for command in script.commands if not _FOLDER_CHANGES.search(script.code) else ():
        names_file = any(_FILE.fullmatch(word.text) for word in command.words)
        if names_file and command.name not in ("echo", "printf", "module"):
            text = "this path begins in the home folder: PBS starts the script there"
            yield finding_at(command, text, 'cd "$PBS_O_WORKDIR" first')
            return
