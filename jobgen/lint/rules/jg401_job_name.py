"""PBS refuses the name of the job."""

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
