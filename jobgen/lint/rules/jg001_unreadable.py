"""The script cannot be read to its end.

A quote, a bracket or a heredoc that is not closed, a prompt that was copied along, a placeholder
such as `<options>` at the end of a line, whose > is a redirection to nothing: bash stops there, and
what the other rules say about the lines behind it may be incomplete.

Evidence: what `bash -n`, which reads a script and runs nothing, says of it; it is asked where the
parser here is at a loss. Without bash on this machine nothing is said.

Cure: close the quote, bracket or heredoc, take the prompt away, put in what the placeholder stands
for.
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
    if not (said := bash_says(script)):
        return
    line, text = said
    if re.search(r"^exit\b", "\n".join(script.lines[: line - 1]), re.MULTILINE):
        return  # bash does not get there, perhaps what follows is Julia
    if found := re.search(r"<[^<>]*[^<>\s]>", script.lines[line - 1]):
        text = f"bash cannot read the placeholder {found[0]}: < and > are redirections"
        yield Finding(line, found.start() + 1, text, "put in what is meant")
    else:
        yield Finding(line, 1, f"bash cannot read this: {text}", "close what is open before it")


def bash_says(script: Script) -> tuple[int, str] | None:
    """The line at which bash gives up, and what it says; None if it reads the script."""
    if "bash_says" not in script.__dict__:
        script.__dict__["bash_says"] = _bash_says(script)
    told: tuple[int, str] | None = script.__dict__["bash_says"]
    return told


def _bash_says(script: Script) -> tuple[int, str] | None:
    if not script.broken or not (bash := shutil.which("bash")):
        return None
    text = script.text.encode("utf-8", "surrogateescape")
    # `-n` runs no `shopt -s extglob`.
    argv = [bash, "-O", "extglob", "-n"]
    said = subprocess.run(argv, input=text, capture_output=True, env=_ENV, check=False)
    found = re.search(r"line (\d+): (.*)", said.stderr.decode("utf-8", "replace"))
    return (min(int(found[1]), len(script.lines)), found[2]) if said.returncode and found else None
