"""A path has backslashes."""

import re

from jobgen.lint.rules import Findings, Script, finding_at

# Commands that take paths; the words of others may be patterns.
_TAKES_PATHS = ("source", ".", "cd", "python", "python3", "ls", "cp", "mv", "mkdir", "bash")


def check(script: Script) -> Findings:
    for command in script.commands:
        for word in command.words[1:] if command.name in _TAKES_PATHS else ():
            # `\_` ends the name of a variable, in $NAME\_x.
            if not word.variables and re.fullmatch(r"[\w.~-]+(\\[A-Za-z\d][\w.-]*)+", word.raw):
                text = f"bash reads `{word.raw}` as `{word.text}`"
                yield finding_at(word, text, "write / for \\")
