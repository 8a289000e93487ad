"""CUDA_LAUNCH_BLOCKING was left on.

With CUDA_LAUNCH_BLOCKING=1, the program waits for the end of each kernel on the GPU before it goes
on. That shows which line has failed, and is for debugging only: the GPU does nothing while the next
kernel is prepared, and work on several streams is one after the other.

Evidence: CUDA C++ Programming Guide, "Concurrent execution between host and device": "This feature
is provided for debugging purposes only and should not be used as a way to make production software
run reliably".

Cure: remove it, or set it for a single run: `sbatch --export=ALL,CUDA_LAUNCH_BLOCKING=1 job.sh`.

Example:
  #SBATCH --gres=gpu:4
- export CUDA_LAUNCH_BLOCKING=1
+ export CUDA_LAUNCH_BLOCKING=0
  srun python train.py
"""

import re

from jobgen.lint.reader.commands import base_name
from jobgen.lint.rules import Assignment, Findings, Script, finding_at

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
        if len(assignments) == 1 and _is_left_on(script, assignments[0]):
            text = f"{name} makes the program wait for each kernel: it is for debugging"
            yield finding_at(assignments[0], text, "remove it")


def _is_left_on(script: Script, assignment: Assignment) -> bool:
    """Whether every run has it, and no comment beside it says that it is needed."""
    is_seen = assignment.name in script.exports or assignment.is_for_command
    is_on = assignment.is_certain and assignment.value.text not in ("", "0")
    beside = "\n".join(script.lines[max(0, assignment.line - 2) : assignment.line])
    return is_seen and is_on and not _REASON.search(beside)
