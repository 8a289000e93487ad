"""A line looks like a directive, and is none.

Only lines that begin with #SBATCH, in capitals and in the first column, are sbatch's; for qsub
blanks may come before #PBS. All others are comments.

Evidence: src/sbatch/opt.c (`_opt_batch_script`), qsub(1B).

Cure: #SBATCH or #PBS at the beginning of the line; ## before it to have it out for a while.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script, Word
from jobgen.profile import Profile

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
        found = re.match(r"#([A-Z]{5,8})\s+-", comment.text)
        if found and found[1] != "SBATCH" and sorted(found[1]) == sorted("SBATCH"):
            text = f"#{found[1]} is no directive"
            yield at(comment, text, "write #SBATCH")
        elif re.match(r"#SBATCH\s+-", comment.text) and _indented(script.lines, comment):
            yield at(comment, "sbatch reads #SBATCH in the first column alone", "no blanks before")


def _indented(lines: list[str], comment: Word) -> bool:
    return lines[comment.line - 1][: comment.column - 1].isspace()
