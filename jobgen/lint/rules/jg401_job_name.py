"""PBS refuses the name of the job.

A blank, / or : in the value of -N is an "illegal -N value". So is a name of more than 230
characters.

Evidence: tried on OpenPBS; qsub(1B).

Cure: letters, digits and - _ . +.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

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

MOST_CHARACTERS = 230


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    name = script.directive("N")
    if name and (character := re.search(r"[ /:]", name.value)):
        text = f"PBS refuses a name with `{character[0]}`"
        yield finding_at(name, text, "use letters, digits and - _ . +")
    elif name and len(name.value) > MOST_CHARACTERS:
        text = f"PBS refuses a name of more than {MOST_CHARACTERS} characters"
        yield finding_at(name, text, "use a shorter one")
