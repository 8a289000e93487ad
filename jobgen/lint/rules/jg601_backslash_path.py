r"""A path is written with backslashes.

To bash a backslash takes the meaning from the next character and goes: `myenv\bin\activate` is
`myenvbinactivate`.

Evidence: bash(1), QUOTING.

Cure: slashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

# Others may take a pattern.
_PATHS = ("source", ".", "cd", "python", "python3", "ls", "cp", "mv", "mkdir", "bash")
BAD = r"""#!/bin/bash
source myenv\bin\activate
"""
GOOD = """\
#!/bin/bash
source myenv/bin/activate
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for command in script.commands:
        for word in command.words[1:] if command.name in _PATHS else ():
            if re.fullmatch(r"[\w.~-]+(\\[\w.-]+)+", word.raw):
                text = f"to bash `{word.raw}` is `{word.text}`"
                yield at(word, text, "write / for \\")
