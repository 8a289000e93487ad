"""PBS refuses the name of the job.

A blank, / or : in the value of -N is an "illegal -N value". So is a name of more than 230
characters.

Evidence: tried on OpenPBS; qsub(1B).

Cure: letters, digits and - _ . +.

Example:
- #PBS -N "my job"
+ #PBS -N my_job
  hostname
"""

import re

from jobgen.lint.rules import Findings, Script, finding_at

MOST_CHARACTERS = 230


def check(script: Script) -> Findings:
    name = script.directive("N")
    if name and (character := re.search(r"[ /:]", name.value)):
        text = f"PBS refuses a name with `{character[0]}`"
        yield finding_at(name, text, "use letters, digits and - _ . +")
    elif name and len(name.value) > MOST_CHARACTERS:
        text = f"PBS refuses a name of more than {MOST_CHARACTERS} characters"
        yield finding_at(name, text, "use a shorter one")
