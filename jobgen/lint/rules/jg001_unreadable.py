"""The script cannot be read to its end.

A quote, a bracket or a heredoc that is not closed, a prompt that was copied along: bash stops
there, and what the other rules say about the lines behind it may be incomplete.

Evidence: what `bash -n`, which reads a script and runs nothing, says of it; it is asked where the
parser here is at a loss. Without bash on this machine nothing is said.

Cure: close the quote, bracket or heredoc, or take the prompt away.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator

from jobgen.lint.rules import Finding
from jobgen.lint.script import Script
from jobgen.profile import Profile

_ENV = {"LC_ALL": "C"}  # no BASH_ENV, and messages in English
BAD = """\
#!/bin/bash
if [ -n "$A" ]; then
  echo "$A
"""
GOOD = """\
#!/bin/bash
if [ -n "$A" ]; then
  echo "$A"
fi
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if not script.broken or not (bash := shutil.which("bash")):
        return
    text = script.text.encode("utf-8", "surrogateescape")
    said = subprocess.run([bash, "-n"], input=text, capture_output=True, env=_ENV, check=False)
    found = re.search(r"line (\d+): (.*)", said.stderr.decode("utf-8", "replace"))
    if said.returncode and found:
        line = min(int(found[1]), len(script.lines))
        yield Finding(line, 1, f"bash cannot read this: {found[2]}", "close what is open before it")
