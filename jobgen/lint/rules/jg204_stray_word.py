"""A word in a directive is not an option, and sbatch refuses the script.

sbatch puts the words of all directives in one list, and reads options from it as a program does
from its command line. It refuses a word that is not an option: "Invalid directive found in batch
script". Such a word comes from a blank in a value without quotes, a blank around `=`, a missing --,
or a typographic dash. It also comes from `--nice 0`, whose value needs the =. (The word `hetjob` is
allowed: it begins the next part of a heterogeneous job.)

Evidence: tried with Slurm 22.05: `sbatch --test-only` ends with 255. src/sbatch/opt.c.

Cure: `--job-name="my job"`, `--nodes=2`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

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

_TYPOGRAPHIC_DASH = re.compile("-?[\u2010-\u2015\u2212]")


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    for word in script.stray_words:
        if word.scheduler != "slurm" or word.is_late:
            continue
        cure = "put quotes around a value with blanks, and no blanks around ="
        if _TYPOGRAPHIC_DASH.match(word.text):
            cure = "type its dashes again, as plain hyphens"
        yield finding_at(word, f"`{word.text}` is not an option: sbatch refuses the script", cure)
