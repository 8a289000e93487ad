"""Submits a job once: a program that was killed finds its jobs again, and submits none twice.

LOGS/NAME.once has the job's program before the script goes to the scheduler, and the job's id after
that. Without the id, a program was killed between the two, or nothing was submitted: then the job
is searched in the queue and in the records.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

from jobgen.api.job import SubmittedJob
from jobgen.api.submission import submit_plan, submitted_before
from jobgen.errors import problem
from jobgen.planning.plan import Plan
from jobgen.runs.records import Record, keep_script, read_records
from jobgen.runs.script_facts import script_facts
from jobgen.submission.queues.own_jobs import NoAnswer, array_of, number_of, own_jobs


def submit_once(name: str, plan: Plan, script: str, within: Path, logs: Path) -> SubmittedJob:
    """The job of this name that was submitted in a folder, or a new one. Raises JobgenError."""
    with _locked(logs / f"{quote(name, safe='')}.once") as note:
        facts = script_facts(Record("", keep_script(logs, script.encode()), folder=logs))
        if not facts.keeps_record:
            text = "its script writes no record, by which the job could be found again"
            raise problem("once", text, "conflict", "leave out plain, or a template of your own")
        lines = note.read().splitlines()
        if not lines:
            print(facts.program, file=note, flush=True)
        elif lines[0] != facts.program:
            text = f"{name} is a job with another program here: {lines[0]}"
            raise problem("once", text, "conflict", "another name, such as that of a new study")
        elif job := (lines[1:] or [_search(plan, facts.program, within, logs)])[0]:
            return submitted_before(plan, job, script, within, logs)
        new = submit_plan(plan, script, within, logs, note.fileno())
        print(new.id, file=note, flush=True)
        return new


@contextmanager
def _locked(path: Path) -> Iterator[TextIO]:
    """The file, which nobody else has; a command for submission has it until that ends, too."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+", encoding="utf-8") as file:
            with suppress(OSError):  # some file systems have no locks
                fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            yield file
    except OSError as error:
        raise problem("once", f"{path}: {error.strerror}", "output") from None


def _search(plan: Plan, program: str, within: Path, logs: Path) -> str:
    """The id of a job with a name and a program; "" for none. Raises JobgenError."""
    folder = os.path.realpath(within / (plan.request.chdir or "."))
    try:
        queue = own_jobs(plan.scheduler) if plan.scheduler != "local" else []
    except NoAnswer as error:
        text = f"it is not known whether {plan.name} is in the queue: {error}"
        raise problem("once", text, "queue", "call it again") from None
    records = read_records(logs)  # after the queue: what has left that, or has begun, has one
    for record in reversed(records):
        facts = script_facts(record)
        if (facts.name, facts.program) == (plan.name, program):
            return array_of(record.job)
    recorded = {number_of(each.job) for each in records}
    for each in queue:
        is_own = each.name == plan.name and os.path.realpath(each.folder) == folder
        if is_own and number_of(each.job) not in recorded:
            return array_of(each.job)
    return ""
