"""A placeholder was left in.

`<your-username>` is to be replaced. To bash < and > are redirections: what comes of it is an
error about a file that is not there, or a file of an odd name. In a directive anything between them is
taken for one, in a command what is called your…, user, name, path, … (at the end of a line it is JG001's).

Cure: put in what is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding
from jobgen.lint.rules.jg001_unreadable import bash_says
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
: "${RUN:?set RUN to the folder results/<run_id>}"
source "/home/$USER/env/bin/activate"
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    inside = {line for start, end in script.quoted for line in range(start, end + 1)}
    # What a message or a pattern has between < and > is meant so.
    unreadable = bash_says(script)
    for number, line in enumerate(script.lines, 1):
        directive = re.match("#(SBATCH|PBS) ", line)
        said = re.search(r"(?i)\b(echo|printf|sed|awk|grep|perl|usage|error)\b", line)
        if directive and number not in inside:
            for each in re.finditer("<+[^<>@]+>+", re.split(r"\s#", line)[0]):
                yield _finding(number, each)
            continue
        if number in inside or said or script.foreign or line.lstrip().startswith("#"):
            continue
        if unreadable and unreadable[0] == number:  # JG001 says so
            continue
        told = line[:1] + re.split(r"\s#", line[1:])[0]  # without a comment
        told = re.sub(r"\$\{\w+:?\?[^}]*", lambda message: " " * len(message[0]), told)
        for found in re.finditer(r"(?<![<$(@])<([A-Za-z][\w /-]*)>(?![>(])", told):
            if re.search(
                r"(?i)your|user|name|path|account|project|dir|insert|put|replace|email|address|id\b",
                found[1],
            ):
                yield _finding(number, found)


def _finding(number: int, found: re.Match[str]) -> Finding:
    text = f"the placeholder {found[0]} is still there"
    return Finding(number, found.start() + 1, text, "put in what is meant")
