"""A variable in single quotes has a backslash, and stays a name."""

import re

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Findings, Script, finding_at

_ESCAPED = re.compile(r"(?<!\\)\\\$\{?([A-Za-z_]\w*)")


def check(script: Script) -> Findings:
    for launcher in launchers(script):
        for name, word in launcher.options.items() if launcher.command.depth == 1 else ():
            if found := _ESCAPED.search(word.raw if not word.raw.startswith("'") else ""):
                option = launcher.option_name(name)
                text = f"{option} gets the text ${found[1]}, not its value"
                yield finding_at(word, text, "remove the backslash")
