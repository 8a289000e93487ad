"""CUDA_VISIBLE_DEVICES names a GPU that the job does not have."""

import re

from jobgen.lint.rules import Findings, Gpus, Script, finding_at

_OTHER_REQUESTS = re.compile(r"--gres|--gpus|\s-G\s*\d|\bsalloc\b|\bsbatch\b")


def check(script: Script) -> Findings:
    assignments = script.assignments_of("CUDA_VISIBLE_DEVICES")
    gpus = _gpus(script) if assignments else None
    if not gpus or gpus.count == 0 or script.asks_for_whole_nodes:
        return
    for assignment in assignments:
        value = assignment.value.text
        if not assignment.is_certain or not re.fullmatch(r"\d{1,3}(,\d{1,3})*", value):
            continue
        if (most := max(map(int, value.split(",")))) >= gpus.count:
            count = f"{gpus.count} GPU" + "s" * (gpus.count > 1)
            text = f"there is no GPU {most}: line {gpus.line} requests {count}, numbered from 0"
            yield finding_at(assignment, text, "remove it: Slurm sets CUDA_VISIBLE_DEVICES")


def _gpus(script: Script) -> Gpus | None:
    """The GPUs that the job has on a node, at most; None if a command may request others."""
    if script.scheduler != "slurm" or _OTHER_REQUESTS.search(script.code):
        return None
    if directive := script.directive("gpus"):
        found = re.fullmatch(r"(?:[A-Za-z][\w.-]*:)?(\d{1,4})", directive.value)
        return Gpus(int(found[1]), directive.line, directive.column) if found else None
    return script.gpus_per_node
