"""-l select is used with an old way to ask for the same.

What a chunk has is said in `select`, or in the old way with `-l ncpus`, `-l nodes` and so on;
PBS refuses a job that does both.

Evidence: pbs_resources(7B); tried on OpenPBS: "cannot be used with "select" or "place"".

Cure: `-l select=N:ncpus=…:mem=…`; walltime stays outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#PBS -l select=2:ncpus=4
#PBS -l ncpus=8
hostname
"""
GOOD = """\
#!/bin/bash
#PBS -l select=2:ncpus=8
#PBS -l walltime=1:00:00
hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if not script.selects:
        return
    for each in script.live:
        if each.scheduler == "pbs" and each.option == "l":
            outside = re.sub(r"(select|place)=[^,]*", "", each.value)
            if found := re.search(r"(?:^|,)(ncpus|nodes|mpiprocs|ompthreads)=", outside):
                text = f"{found[1]} cannot be used beside select: qsub refuses it"
                yield at(each, text, "say it in select, with a colon before it")
