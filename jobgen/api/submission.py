"""Submits the script of a plan, as the command line does, and returns the job."""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from time import time

from jobgen.api.job import SubmittedJob
from jobgen.errors import JobgenError, problem
from jobgen.paths import is_file, to_path
from jobgen.planning.plan import Plan
from jobgen.runs.records import SCRIPTS, Record, keep_script, note_submission, records_of
from jobgen.runs.script_facts import read_script
from jobgen.submission.ending import Submitted
from jobgen.submission.environments import check_environments
from jobgen.submission.local_process import LeftProcess, LocalProcess
from jobgen.submission.machine import Here
from jobgen.submission.queues.job_queue import get_queue
from jobgen.submission.submit import check_submission, hand_over, log_folder
from jobgen.submission.watch import QueueWatch, Watch

_WATCHES = {scheduler: QueueWatch(scheduler) for scheduler in ("slurm", "pbs")}


def check(plan: Plan, within: Path) -> Path:
    """The folder for the record of a job. Raises JobgenError if it cannot be submitted here."""
    if plan.scheduler != "local":
        check_submission(plan.scheduler, None)
    if any(each.startswith("#SBATCH --clusters=") for each in plan.directives):
        hint = "set SLURM_CLUSTERS=NAME, for all commands of Slurm"
        raise problem("directives", "--clusters is in its script", "conflict", hint)
    check_environments([plan], within)
    return log_folder(plan, Path(os.path.abspath(within)))


def submit_plan(
    plan: Plan, script: str, within: Path, logs: Path, lock: int | None = None
) -> SubmittedJob:
    """Submit the script of a plan in a folder; its record is in `logs`. Raises JobgenError.

    The command for submission keeps the lock until it ends.
    """
    missing = _missing_script(plan, within)
    if plan.scheduler == "local":
        process = _start(plan, script, within, logs)
        submitted = Submitted(process.id, logs)
        return _with_record("local", submitted, script, process, messages=missing)
    try:
        queue = get_queue(plan.scheduler, Here(os.path.abspath(within)))
        new = hand_over(script.encode(), queue, lock=lock)
    except JobgenError as error:
        raise problem("submit", "; ".join(str(error).splitlines()), "submit") from None
    messages = "\n".join(filter(None, [missing, new.messages]))
    submitted, watch = _submitted(plan, new.id, logs), _WATCHES[plan.scheduler]
    return _with_record(plan.scheduler, submitted, script, watch, new.cluster, messages)


def submitted_before(plan: Plan, job: str, script: str, within: Path, logs: Path) -> SubmittedJob:
    """The job with an id that another process has submitted, perhaps with another script."""
    for record in records_of(logs, job)[:1]:
        with suppress(JobgenError):
            script = read_script(record).decode()
    if plan.scheduler == "local":
        process = LeftProcess(job, logs / SCRIPTS, Path(os.path.abspath(within)), plan.name)
        return _with_record("local", Submitted(job, logs), script, process)
    watch = _WATCHES[plan.scheduler]
    return _with_record(plan.scheduler, _submitted(plan, job, logs), script, watch)


def _submitted(plan: Plan, job: str, logs: Path) -> Submitted:
    return Submitted(job, logs, plan.request.array or "", bool(plan.launch.chain))


def _missing_script(plan: Plan, within: Path) -> str:
    """A warning if the program's file is not in the folder that the job is submitted from."""
    name = plan.program.name
    is_elsewhere = "$" in name or plan.software.workspace or plan.request.chdir
    if plan.program.kind != "script" or is_elsewhere or is_file(within / to_path(name)):
        return ""
    return f"warning: there is no file {name!r:.80} here; the job needs it in its folder"


def _start(plan: Plan, script: str, within: Path, logs: Path) -> LocalProcess:
    try:
        copy = logs / SCRIPTS / f"{keep_script(logs, script.encode())}.sh"
    except OSError as error:
        raise problem("submit", f"{error.filename or logs}: {error.strerror}", "output") from None
    begin = int(time())
    process = LocalProcess(copy, Path(os.path.abspath(within)), plan.name)
    if any((each.begin or each.submitted or 0) < begin for each in records_of(logs, process.id)):
        (logs / f"{process.id}.json").unlink(missing_ok=True)  # of an older process of this number
    return process


def _with_record(
    scheduler: str,
    submitted: Submitted,
    script: str,
    watch: Watch,
    cluster: str = "",
    messages: str = "",
) -> SubmittedJob:
    job, logs = submitted.id, submitted.logs
    record = Record(job, hashlib.sha256(script.encode()).hexdigest(), time(), folder=logs)
    try:
        note_submission(logs, job, script.encode())
    except OSError as error:  # the job is submitted: after an error, many would submit it again
        text = f"warning: no record yet: {error.filename or logs}: {error.strerror}"
        messages = f"{messages}\n{text}".lstrip()
    return SubmittedJob(scheduler, submitted, script, record, watch, cluster, messages)
