"""A word in a directive is no option, and sbatch stops reading there.

sbatch puts the words of all directives in one list and reads options from it as a program does
from its command line: the first word that is none ends it. The directives after it are ignored,
all of them.

Evidence: src/sbatch/opt.c (getopt_long with `+`). A blank in a value without quotes, a blank
around `=`, a missing -- or a typographic dash make such a word.

The word `hetjob` is none of these: with it the next part of a heterogeneous job begins.

Cure: `--job-name="my job"`, `--nodes=2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --job-name my job
#SBATCH --nodes=2
srun hostname
"""
GOOD = """\
#!/bin/bash
#SBATCH --job-name "my job"
#SBATCH --nodes=2
#SBATCH hetjob
#SBATCH --nodes=1 --gres=gpu:4
srun hostname
"""

_DASH = re.compile("-?[\u2010-\u2015\u2212]")  # a typographic one


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for each in script.stray:
        if each.scheduler == "slurm" and _DASH.match(each.text) and not each.late:
            text = f"`{each.text}` begins with a dash that is no hyphen: sbatch reads nothing from here on"
            yield at(each, text, "type the hyphens anew")
        elif each.scheduler == "slurm" and each.line <= max(
            (d.line for d in script.live), default=0
        ):
            text = f"`{each.text}` is no option: sbatch reads no directive after it"
            yield at(each, text, "put quotes around a value with blanks, and no blanks around =")
