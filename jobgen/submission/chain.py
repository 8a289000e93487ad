"""How a chain has ended: its jobs keep one file, and the last line of it says so.

A chain is an array, of which jobs may have failed or be cancelled although the training is done. So
its exit status is not the worst one of its jobs.
"""

from jobgen.runs.chains import ChainEvent
from jobgen.submission.queues.job_queue import ArrayJob, JobStatus

DONE_FOR_GOOD = 93  # the exit status of a program that must not go on


def chain_status(event: ChainEvent) -> int | None:
    """0 or DONE_FOR_GOOD if the training is done by its last event, 1 if it stopped; else None."""
    if event.is_done:
        return DONE_FOR_GOOD if event.text.endswith(f" {DONE_FOR_GOOD}") else 0
    return 1 if event.has_stopped else None


def end_of_chain(status: JobStatus, event: ChainEvent) -> JobStatus:
    """The status of a chain that has ended: 0 if the training is done.

    Its output is that of the job in its last event: a later one may never have begun.
    """
    ended = chain_status(event)
    own = (job.output for job in status.array_jobs if job.number == event.job)
    of_all = (ArrayJob("", None, output=status.output),)  # on PBS a pattern, with ^array_index^
    return status._replace(
        exit_status=status.exit_status or 1 if ended is None else ended,
        output=next(own, status.output.replace("^array_index^", event.job)),
        array_jobs=status.array_jobs or of_all,
    )


def advice(event: ChainEvent, number: str) -> str:
    """What to do after the last event of a chain of which no job is left."""
    if event.is_done:
        return ""
    if event.has_stopped:
        return f"; jobgen why {number} says what failed"
    return "; no job is left: submit the script again to go on"
