"""A line looks like a directive, and is none.

sbatch reads only lines that begin with #SBATCH, in capitals and in the first column. For qsub,
blanks may come before #PBS. All other lines are comments.

Evidence: src/sbatch/opt.c (`_opt_batch_script`), qsub(1B).

Cure: #SBATCH or #PBS at the beginning of the line; ## turns a directive off for a while.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.reader.script import Script
from jobgen.lint.rules import Finding, finding_at
from jobgen.profiles.model import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBTACH --gres=gpu:4
srun python train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=2
#SBATCH --gres=gpu:4
##SBATCH --qos=high
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    if not script.directives:
        return
    for comment in script.comments:
        before = script.lines[comment.line - 1][: comment.column - 1]
        word = re.match(r"#([A-Z]{5,8})\s+-", comment.text)
        if word and word[1] != "SBATCH" and sorted(word[1]) == sorted("SBATCH"):
            yield finding_at(comment, f"#{word[1]} is not a directive", "write #SBATCH")
        elif before.isspace() and re.match(r"#SBATCH\s+-", comment.text):
            text = "sbatch reads #SBATCH only in the first column"
            yield finding_at(comment, text, "remove the blanks before it")
