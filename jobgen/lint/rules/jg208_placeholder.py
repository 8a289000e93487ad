"""A placeholder was left in.

`<your-username>` is to be replaced. To bash < and > are redirections: what comes of it is an
error about a file that is not there, or a file of an odd name.

Cure: put in what is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --account=<your-account>
source /home/<your-username>/env/bin/activate
"""
GOOD = """\
#!/bin/bash
#SBATCH --account=physics
source "/home/$USER/env/bin/activate"
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    inside = {line for start, end in script.quoted for line in range(start, end + 1)}
    # What a message or a pattern has between < and > is meant so.
    for number, line in enumerate(script.lines, 1):
        directive = re.match("#(SBATCH|PBS) ", line)
        said = re.search(r"(?i)\b(echo|printf|sed|awk|grep|perl|usage|error)\b", line)
        if number in inside or said or (line.lstrip().startswith("#") and not directive):
            continue
        told = line[:1] + re.split(r"\s#", line[1:])[0]  # without a comment
        for found in re.finditer(r"(?<![<$(@])<([A-Za-z][\w /-]*)>(?![>(])", told):
            if re.search(
                r"(?i)your|user|name|path|account|project|dir|insert|put|replace|email|address|id\b",
                found[1],
            ):
                text = f"the placeholder {found[0]} is still there"
                yield Finding(number, found.start() + 1, text, "put in what is meant")
