"""How a chain has ended: its jobs keep one file, and the last line of it says so.

A chain is an array, of which jobs may have failed or be cancelled although the training is done. So
its exit status is not the worst one of its jobs.
"""

import re

from jobgen.runs.chains import chain_events
from jobgen.submission.queues.job_queue import ArrayJob, JobStatus

DONE_FOR_GOOD = 93  # the exit status of a program that must not go on


def all_events(text: str) -> list[str]:
    """The events in the state of a chain; a line that a full disk has cut is none."""
    return [each.text for each in chain_events(text)]


def last_event(text: str) -> str:
    """The last event in the state of a chain; "" if it has none."""
    return ["", *all_events(text)][-1]


def chain_status(event: str) -> int | None:
    """0 or DONE_FOR_GOOD if the training is done by its last event, 1 if it stopped; else None."""
    if " is done: " in event:
        return DONE_FOR_GOOD if event.endswith(f" {DONE_FOR_GOOD}") else 0
    return 1 if re.match(r"job \d+ stopped\b", event) else None


def end_of_chain(status: JobStatus, event: str) -> JobStatus:
    """The status of a chain that has ended: 0 if the training is done.

    Its output is that of the job in its last event: a later one may never have begun.
    """
    index, ended = event.split()[1], chain_status(event)
    own = (job.output for job in status.array_jobs if job.number == index)
    of_all = (ArrayJob("", None, output=status.output),)  # on PBS a pattern, with ^array_index^
    return status._replace(
        exit_status=status.exit_status or 1 if ended is None else ended,
        output=next(own, status.output.replace("^array_index^", index)),
        array_jobs=status.array_jobs or of_all,
    )


def advice(event: str, number: str) -> str:
    """What to do after the last event of a chain of which no job is left."""
    if " is done: " in event:
        return ""
    if " stopped" in event:
        return f"; jobgen why {number} says what failed"
    return "; no job is left: submit the script again to go on"
