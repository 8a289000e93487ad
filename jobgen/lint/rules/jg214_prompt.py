"""A prompt was copied along.

To bash the $ of a prompt is the name of a command: "$: command not found". What stands behind it
is not run, and without `set -e` the job goes on.

Evidence: tried with bash 5.2.

Cure: the command without the prompt.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.rules import Finding
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#SBATCH --nodes=1
$ module load cuda
srun python train.py
"""
GOOD = """\
#!/bin/bash
#SBATCH --nodes=1
module load cuda
srun python train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    inside = {line for start, end in script.quoted for line in range(start, end + 1)}
    for number, line in enumerate(script.lines, 1):
        prompt = re.match(r"\s*(\[?[\w.-]+@[\w.-]+[: ][~\w./-]*\]?[$#]|\$)\s+[a-z./]", line)
        if prompt and number not in inside:
            text = f"`{prompt[1]}` is a prompt: bash takes it for a command"
            yield Finding(number, prompt.start(1) + 1, text, "the command without it")
