r"""A path has backslashes.

bash removes a backslash, which only quotes the next character: `myenv\bin\activate` becomes
`myenvbinactivate`.

Evidence: bash(1), QUOTING.

Cure: slashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

BAD = r"""#!/bin/bash
source myenv\bin\activate
"""
GOOD = """\
#!/bin/bash
source myenv/bin/activate
cp run_$PBS_ARRAYID\\_old.log run\\_new.log
"""

# Commands that take paths; the words of others may be patterns.
_TAKES_PATHS = ("source", ".", "cd", "python", "python3", "ls", "cp", "mv", "mkdir", "bash")


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for command in script.commands:
        for word in command.words[1:] if command.name in _TAKES_PATHS else ():
            # `\_` ends the name of a variable, in $NAME\_x.
            if not word.variables and re.fullmatch(r"[\w.~-]+(\\[A-Za-z\d][\w.-]*)+", word.raw):
                text = f"bash reads `{word.raw}` as `{word.text}`"
                yield finding_at(word, text, "write / for \\")
