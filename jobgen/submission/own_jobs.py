"""The user's jobs in the queue of this machine, by one query."""

import re
import shutil

from jobgen.paths import effective_user
from jobgen.submission.machine import HERE, Machine

QUERY_SECONDS = 30.0
_SLURM_WAITS = ("PENDING", "REQUEUED", "REQUEUE_HOLD", "REQUEUE_FED", "SPECIAL_EXIT")
_PBS = re.compile(r"^(\d+(?:\[\d*\])?)(?:\.\S*)?\s+.*\s([A-Z])\s+\S+\s*$", re.MULTILINE)


def own_jobs(machine: Machine = HERE) -> dict[str, bool] | None:
    """Whether each job of the user runs (True) or waits, by its number: 12, 12_3, 12[3].

    None if there is no scheduler here, or if it does not answer.
    """
    if shutil.which("squeue"):
        shape = ("--noheader", "--array", "--format=%i|%T")
        answer = machine.run(("squeue", *shape, f"--user={effective_user()}"), b"", QUERY_SECONDS)
        rows = [line.partition("|") for line in answer.output.splitlines()]
        jobs = {job.strip(): state not in _SLURM_WAITS for job, _, state in rows}
    elif shutil.which("qstat"):
        answer = machine.run(("qstat", "-t"), b"", QUERY_SECONDS)  # of all users: ids are unique
        found = [each for each in _PBS.findall(answer.output) if each[1] not in "FX"]
        jobs = {job: state not in "QHWT" for job, state in found}
    else:
        return None
    return jobs if answer.status == 0 else None
