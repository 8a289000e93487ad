"""All jobs of the user in the queue, by one query, however many there are; and how jobs ended."""

import re
from collections.abc import Iterable, Mapping, Sequence

from jobgen.errors import JobgenError
from jobgen.submission.machine import HERE, Machine, on_path
from jobgen.submission.queues.job_queue import ArrayJob, JobStatus, QueuedJob, get_queue

QUERY_SECONDS = 70.0
_MOST_AT_ONCE = 1000  # ids in one command: Linux takes 128 KiB for a word of it


class NoAnswer(JobgenError):
    """The scheduler did not answer a query; the text says why."""


def schedulers_on(machine: Machine) -> list[str]:
    """The schedulers of which a machine has the commands."""
    found = on_path(("squeue", "qselect"), machine)
    return ["slurm" if name == "squeue" else "pbs" for name in found]


def own_jobs(scheduler: str, machine: Machine = HERE) -> list[QueuedJob]:
    """The user's jobs that the queue shows; some may have ended just now. Raises NoAnswer."""
    queue = get_queue(scheduler)
    answer = machine.run(("bash", "-c", queue.own_jobs_line), seconds=QUERY_SECONDS)
    if answer.status != 0:
        raise NoAnswer(answer.reason)
    try:
        return list(queue.parse_own_jobs(answer.output))
    except ValueError as error:
        raise NoAnswer(str(error)) from None


def ended_jobs(
    scheduler: str, jobs: Sequence[str], machine: Machine = HERE
) -> dict[str, JobStatus]:
    """The last states of jobs that have left the queue, by number, as far as a site keeps them.

    Raises NoAnswer if the connection to the site is lost, or if its answer cannot be read.
    """
    queue, found = get_queue(scheduler), dict[str, JobStatus]()
    for first in range(0, len(jobs), _MOST_AT_ONCE):
        ids = queue.id_separator.join(jobs[first : first + _MOST_AT_ONCE]).split()
        answer = machine.run((*queue.ended, *ids), seconds=QUERY_SECONDS)
        if answer.status is None and machine.name:  # here, the command may not be there
            raise NoAnswer(answer.reason)
        try:
            found |= by_number(queue.parse_ended(answer.output))
        except ValueError as error:
            raise NoAnswer(str(error)) from None
    return {job: status for job, status in found.items() if status.exit_status is not None}


def by_number(jobs: Iterable[QueuedJob]) -> dict[str, JobStatus]:
    """The status of each job by its number; all jobs of an array have one, that of the array."""
    found: dict[str, list[QueuedJob]] = {}
    for each in jobs:
        found.setdefault(number_of(each.job), []).append(each)
    return {number: _joined(each) for number, each in found.items()}


def number_of(job: str) -> str:
    """The number of a job, or of its array: PBS may add or shorten the server's name."""
    return re.split(r"[._\[]", job)[0]


def array_of(job: str) -> str:
    """The id of the array that a job belongs to (12_3, 12[3].server), or the job's own."""
    return re.sub(r"\[\d+\]", "[]", job.partition("_")[0])


def _joined(jobs: Sequence[QueuedJob]) -> JobStatus:
    """The status of an array, with its jobs: PBS has one of its own, Slurm those of its jobs."""
    own = [each.status for each in jobs if array_of(each.job) == each.job]
    if own:
        return own[0]
    array_jobs = tuple(ArrayJob(each.job, each.status.exit_status) for each in jobs)
    if len(jobs) == 1:
        return jobs[0].status._replace(array_jobs=array_jobs)
    all_states = [each.status.state for each in jobs]
    states = {state: all_states.count(state) for state in all_states}
    ends = [each.status.exit_status for each in jobs]
    return JobStatus(
        state=", ".join(f"{count} {state}" for state, count in states.items()),
        elapsed=max((each.status.elapsed for each in jobs), key=len),
        exit_status=None if None in ends else max(end or 0 for end in ends),
        array_jobs=array_jobs,
    )


def running(machine: Machine = HERE) -> Mapping[str, bool] | None:
    """Whether each job of the user runs, as `which_run` has it.

    None if there is no scheduler, or if it does not answer.
    """
    schedulers = schedulers_on(machine)
    try:
        jobs = [job for each in schedulers for job in own_jobs(each, machine)]
    except NoAnswer:
        return None
    return which_run(jobs) if schedulers else None


def which_run(jobs: Iterable[QueuedJob]) -> dict[str, bool]:
    """Whether each job in the queue runs (True) or waits, by its id without the server.

    An array is there, too, and waits as long as one of its jobs does.
    """
    found: dict[str, bool] = {}
    for each in jobs:
        if each.status.exit_status is None:
            job = each.job.partition(".")[0]
            for number in {job, array_of(job)}:
                found[number] = each.status.is_running and found.get(number, True)
    return found
