"""PBS refuses the name of the job.

A blank, / or : in the value of -N is an "illegal -N value", and so is a name above 230
characters.

Evidence: tried on OpenPBS; qsub(1B).

Cure: letters, digits and - _ . +.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#PBS -N "my job"
hostname
"""
GOOD = """\
#!/bin/bash
#PBS -N my_job
hostname
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    told = script.option("N")
    if told and (found := re.search(r"[ /:]", told.value)):
        yield at(told, f"PBS refuses a name with `{found[0]}` in it", "letters, digits and - _ . +")
    elif told and len(told.value) > 230:
        yield at(told, "PBS refuses a name above 230 characters", "a shorter one")
