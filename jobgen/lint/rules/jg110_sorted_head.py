"""The head node comes from a sorted node file.

$PBS_NODEFILE begins with the node that the script runs on. Sorted, it may begin with another
one, which is then taken for the head although nothing of the job runs there as such.

Evidence: qsub(1B); NCAR/miles-credit warns of it. Seen on OpenPBS: the script was on
blancapeak005, the node file had 005 and 003, and sorted 003 came first.

Cure: drop repeated lines and keep the order: `awk '!seen[$1]++' "$PBS_NODEFILE"`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from jobgen.lint.launch import launchers
from jobgen.lint.rules import Finding, at
from jobgen.lint.script import Script
from jobgen.profile import Profile

BAD = """\
#!/bin/bash
#PBS -l select=2:ncpus=4:ngpus=4
nodes=($(sort $PBS_NODEFILE | uniq))
head=${nodes[0]}
torchrun --nnodes=1 --rdzv-endpoint=$head:29500 train.py
"""
GOOD = """\
#!/bin/bash
#PBS -l select=2:ncpus=4:ngpus=4
nodes=($(awk '!seen[$1]++' $PBS_NODEFILE))
head=${nodes[0]}
torchrun --nnodes=1 --rdzv-endpoint=$head:29500 train.py
"""


def check(script: Script, profile: Profile | None) -> Iterator[Finding]:
    here = any(not run.starter for run in launchers(script))
    for each in script.assignments:
        text = each.value.text
        if (
            not here
            or "PBS_NODEFILE" not in text
            or not re.search(r"\bsort\b", text)
            or "wc" in text
        ):
            continue
        first = re.search(r"\bhead\b|sed -n 1p", text)
        if first or re.search(rf"\$\{{{re.escape(each.name)}(\[0\])?\}}", script.text):
            said = "sorted, the node file may not begin with the node that this script runs on"
            yield at(each, said, "keep its order: awk '!seen[$1]++' \"$PBS_NODEFILE\"")
