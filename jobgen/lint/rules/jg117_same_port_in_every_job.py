"""Every job of this script has the same port, and other jobs may be on its nodes."""

from jobgen.lint.launchers import fixed_ports, launchers
from jobgen.lint.rules import Findings, Script, finding_at

# Many sites give whole nodes without a request.
OPTIONAL = True

_CURE = "make it from the job's id, or request whole nodes"


def check(script: Script) -> Findings:
    if not script.scheduler or script.asks_for_whole_nodes:
        return
    for launcher, port in fixed_ports(script):
        job_id = launcher.options.get("rdzv-id")
        more = f", and the id {job_id.text}" if job_id and job_id.is_literal else ""
        yield finding_at(port, f"every job of this script has this port{more}", _CURE)
    assignment = script.constant("MASTER_PORT")
    if assignment and assignment.value.text.isdecimal() and not launchers(script):
        yield finding_at(assignment, "every job of this script has this port", _CURE)
