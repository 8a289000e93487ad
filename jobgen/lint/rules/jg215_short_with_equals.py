"""A short option has its value behind a `=`.

Only long options take `=`. Of `-c=2` the value is `=2`: sbatch refuses a number like that, and
`-o=job.out` writes to a file that is called `=job.out`.

Evidence: getopt_long(3). Tried with Slurm 22.05: `-c=2` is "Invalid numeric value", `-N=2` no valid node
count.

Cure: `-c 2`, or the long name: `--cpus-per-task=2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH -c=2
srun hostname
"""
GOOD = """\
#!/bin/bash
#SBATCH -c 2 --nodes=2
srun hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for each in script.live:
        if re.match("-[A-Za-z]=", each.raw):
            text = f"the value of {each.raw[:2]} is `{each.value}`, with the ="
            cure = f"{each.raw[:2]} {each.raw[3:]}"
            long = len(each.option) > 1
            yield at(each, text, f"{cure}, or --{each.option}={each.raw[3:]}" if long else cure)
