"""A variable is used in the command that it is set for.

In `NAME=value command $NAME` the shell expands $NAME before it sets it for the command: the
command gets what it was before, mostly nothing. `--master_addr=$MASTER_ADDR` becomes
`--master_addr=`.

Evidence: bash(1), SIMPLE COMMAND EXPANSION. Tried: torchrun refuses the endpoint `:29400`.

Cure: `export NAME=value` on a line before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
MASTER_ADDR=10.0.0.1 torchrun --nnodes=2 --node_rank=0 --master_addr=$MASTER_ADDR train.py
"""
GOOD = """\
#!/bin/bash
export MASTER_ADDR=10.0.0.1
torchrun --nnodes=2 --node_rank=0 --master_addr=$MASTER_ADDR train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for command in script.commands if not script.broken else ():
        for each in command.assignments:
            others = [told for told in script.set_to(each.name) if told is not each]
            used = any(each.name in word.variables for word in command.words)
            plain = not re.search(rf"\$\{{?{re.escape(each.name)}\b", each.value.text)
            if used and plain and not others and each.name not in script.dynamic:
                text = f"${each.name} is expanded before it is set for this command"
                yield at(each, text, f"export {each.name}={each.value.text} on a line before")
