"""A PBS directive has a comment behind it.

qsub takes # and what follows for more words of the directive, and refuses the script. (sbatch
does not.)

Evidence: tried on OpenPBS: a trailing `# comment` is a directive error.

Cure: the comment on a line of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#PBS -l select=1:ncpus=4
#PBS -q gpu  # the big one
hostname
"""
GOOD = """\
#!/bin/bash
# the big one
#PBS -l select=1:ncpus=4
#PBS -q gpu
hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for each in script.stray:
        if each.scheduler == "pbs" and each.text.startswith("#") and script.selects:
            yield at(
                each, "qsub takes the comment for words of the directive", "on a line of its own"
            )
