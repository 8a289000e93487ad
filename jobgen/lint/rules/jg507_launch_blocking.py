"""CUDA_LAUNCH_BLOCKING was left on."""

import re

from jobgen.lint.reader.commands import base_name
from jobgen.lint.rules import Findings, Script, finding_at

_NAMES = ("CUDA_LAUNCH_BLOCKING", "HIP_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL")
_REASON = re.compile(
    r"#.*(hang|workaround|work-around|do not remove|don't remove|deadlock|crash)", re.I
)


def check(script: Script) -> Findings:
    job_name = script.directive("job-name", "N")
    if "debug" in f"{base_name(script.file)} {job_name.value if job_name else ''}".lower():
        return
    for name in _NAMES if script.active_directives else ():
        assignments = script.assignments_of(name)
        if len(assignments) != 1 or not assignments[0].is_certain:
            continue
        assignment, line = assignments[0], assignments[0].line
        is_seen = name in script.exports or assignment.is_for_command
        beside = "\n".join(script.lines[max(0, line - 2) : line])
        if is_seen and assignment.value.text not in ("", "0") and not _REASON.search(beside):
            text = f"{name} makes the program wait for each kernel: it is for debugging"
            yield finding_at(assignment, text, "remove it")
