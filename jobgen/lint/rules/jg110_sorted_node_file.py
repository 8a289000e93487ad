"""The head node comes from a sorted node file.

$PBS_NODEFILE begins with the node on which the script runs. A sorted list may begin with another
node. The script then takes that node for the head, although it does not run there.

Evidence: qsub(1B); NCAR/miles-credit warns of it. Seen on OpenPBS: the script was on
blancapeak005, the node file had 005 and 003, and sorted 003 came first.

Cure: drop repeated lines and keep the order: `awk '!seen[$1]++' "$PBS_NODEFILE"`.

Example:
  #PBS -l select=2:ncpus=4:ngpus=4
- nodes=($(sort $PBS_NODEFILE | uniq))
+ nodes=($(awk '!seen[$1]++' $PBS_NODEFILE))
  head=${nodes[0]}
  pbs_tmrsh ${nodes[1]} torchrun --nnodes=2 --rdzv-endpoint=$head:29500 train.py &
  torchrun --nnodes=2 --rdzv-endpoint=$head:29500 train.py
"""

import re

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Findings, Script, finding_at


def check(script: Script) -> Findings:
    if all(launcher.starter for launcher in launchers(script)):
        return
    for assignment in script.assignments:
        value, name = assignment.value.text, re.escape(assignment.name)
        is_sorted = "PBS_NODEFILE" in value and re.search(r"\bsort\b", value)
        if not is_sorted or "wc" in value:
            continue
        is_head = re.search(r"\bhead\b|sed -n 1p", value)
        if is_head or re.search(rf"\$\{{{name}(\[0\])?\}}", script.text):  # its first node is used
            text = "a sorted node file may not begin with the node on which this script runs"
            cure = "keep its order: awk '!seen[$1]++' \"$PBS_NODEFILE\""
            yield finding_at(assignment, text, cure)
