"""The address of the head is fixed, but the job may be on any nodes."""

import re

from jobgen.lint.launchers import launchers
from jobgen.lint.rules import Findings, Script, finding_at

# An address, or a name that ends in a number: others may be placeholders.
_ADDRESS = re.compile(r"(?!127\.|0\.0\.0\.0)\d+(?:\.\d+){3}|[A-Za-z][\w-]*\d(?:\.[\w.-]+)?")


def check(script: Script) -> Findings:
    if script.scheduler != "slurm" or (script.nodes or 1) < 2 or script.directive("nodelist"):
        return
    assignment = script.constant("MASTER_ADDR")
    words = [assignment.value] if assignment and "MASTER_ADDR" in script.exports else []
    for launcher in launchers(script) if not script.runs_itself else ():
        for option in ("rdzv-endpoint", "master-addr"):
            if launcher.is_multi_node and option in launcher.options:
                words.append(launcher.options[option])
    for word in words:
        address = word.text.rpartition(":")[0] or word.text
        if word.is_literal and _ADDRESS.fullmatch(address):
            text = f"{address} is a fixed node, but the job may be on any nodes"
            cure = "use the first node of the job: MASTER_ADDR=$(hostname) in the batch script"
            yield finding_at(word, text, cure)
