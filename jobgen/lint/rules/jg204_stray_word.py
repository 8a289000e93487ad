"""A word in a directive is no option, and sbatch refuses the script.

sbatch puts the words of all directives in one list and reads options from it as a program does
from its command line. A word that is none is an error: "Invalid directive found in batch script". A
blank in a value without quotes, a blank around `=`, a missing -- or a typographic dash make such a
word; `--nice 0` does, too, for its value needs the =. (With the word `hetjob` the next part of a
heterogeneous job begins.)

Evidence: tried with Slurm 22.05: `sbatch --test-only` ends with 255. src/sbatch/opt.c.

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
        if each.scheduler != "slurm" or each.late:
            continue
        text = f"`{each.text}` is no option: sbatch refuses the script"
        cure = "put quotes around a value with blanks, and no blanks around ="
        yield at(each, text, "type its hyphens anew" if _DASH.match(each.text) else cure)
