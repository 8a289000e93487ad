"""The head node comes from a sorted node file."""

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
