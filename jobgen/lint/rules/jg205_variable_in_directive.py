"""A variable in a directive stays as it is written.

Directives are comments to the shell: nothing is expanded in them. The output goes to a folder
that is called `$HOME`, if there is one.

Evidence: sbatch(1) has patterns such as %j and %x instead. Tried with Slurm 22.05 and OpenPBS:
taken literally, `$PBS_JOBID` in -o too.

Cure: sbatch's patterns, an absolute path, or the option on the command line: `sbatch -o
"$HOME/x.out"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --output=$HOME/logs/%j.out
srun hostname
"""
GOOD = """\
#!/bin/bash
#SBATCH --output=%x-%j.out
srun hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for each in script.live:
        found = re.search(r"\$\{?[A-Za-z_]\w*\}?", each.value)
        if found and (each.scheduler == "slurm" or (script.selects and each.option in "oeN")):
            text = f"`{found[0]}` is not expanded in a directive"
            yield at(each, text, "write the value, or give the option on the command line")
