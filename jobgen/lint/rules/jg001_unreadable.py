"""The script cannot be read to its end.

A quote, a bracket or a heredoc that is not closed, a prompt that was copied along: bash stops
there, and what the other rules say about the lines behind it may be incomplete.

Evidence: tree-sitter's grammar of bash does not accept it. It reads 360 of 361 real job scripts
that bash accepts; where `bash -n FILE` has nothing to say, it is the grammar that is wrong.

Cure: `bash -n FILE` says more.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.rules import Finding
from jobgen.lint.script import Script
from jobgen.profile import Profile

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
    if script.broken:
        line, column = script.broken
        yield Finding(line, column, "this cannot be read as bash", "see what `bash -n` says")
