"""The states of many jobs by one query of the queue, however many there are."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import NamedTuple

from jobgen.submission.machine import HERE, Answer, Machine
from jobgen.submission.queues.job_queue import JobStatus

QUERY_SECONDS = 70.0
MOST_AT_ONCE = 1000  # ids in one command: Linux takes 128 KiB for a word of it


class Waiting(NamedTuple):
    """A job in the queue, with its name and the folder that it was submitted in."""

    job: str
    name: str
    folder: str


@dataclass(frozen=True)
class ManyJobs:
    """A scheduler's commands about many jobs; an array is one job, with the id of the array."""

    states: tuple[str, ...]  # prints the states of the jobs whose ids follow
    ended: tuple[str, ...]  # prints those of jobs that have left the queue, if these are kept
    are_joined: bool  # whether the ids are one word, with commas
    parse: Callable[[str], dict[str, JobStatus]]
    parse_ended: Callable[[str], dict[str, JobStatus]]
    unknown_job_pattern: str  # matches the error about jobs that have left the queue
    # Yields the user's jobs with a name; the function runs a command and returns its output.
    find: Callable[[str, Callable[[Sequence[str]], str]], Iterator[Waiting]]


class NoAnswer(Exception):
    """The scheduler did not answer a query; the text says why."""


def many_jobs(scheduler: str) -> ManyJobs:
    """The commands of the scheduler `slurm` or `pbs`."""
    found: ManyJobs = import_module(f"jobgen.submission.queues.{scheduler}_queue").MANY
    return found


def array_of(job: str) -> str:
    """The id of the array that a job belongs to (12_3, 12[3].server), or the job's own."""
    return re.sub(r"\[\d+\]", "[]", job.partition("_")[0])


def query_states(
    scheduler: str, jobs: Sequence[str], machine: Machine = HERE
) -> dict[str, JobStatus]:
    """The states of those of the jobs that the queue still shows, by id. Raises NoAnswer."""
    queue, found = many_jobs(scheduler), dict[str, JobStatus]()
    for answer in _answers(queue.states, queue, jobs, machine):
        found |= queue.parse(_checked(answer, queue.states[0], queue.unknown_job_pattern))
    return _by_id(found, jobs)


def query_ended(
    scheduler: str, jobs: Sequence[str], machine: Machine = HERE
) -> dict[str, JobStatus]:
    """The last states of jobs that have left the queue, by id, as far as a site keeps them."""
    queue, found = many_jobs(scheduler), dict[str, JobStatus]()
    for answer in _answers(queue.ended, queue, jobs, machine):
        found |= queue.parse_ended(answer.output)
    return {job: each for job, each in _by_id(found, jobs).items() if each.exit_status is not None}


def find_waiting(scheduler: str, name: str, machine: Machine = HERE) -> list[Waiting]:
    """The user's jobs of a name that are in the queue. Raises NoAnswer."""

    def ask(words: Sequence[str]) -> str:
        return _checked(machine.run(words, seconds=QUERY_SECONDS), words[0], "Unknown Job Id")

    return list(many_jobs(scheduler).find(name, ask))


def _answers(
    words: tuple[str, ...], queue: ManyJobs, jobs: Sequence[str], machine: Machine
) -> Iterator[Answer]:
    for first in range(0, len(jobs), MOST_AT_ONCE):
        some = jobs[first : first + MOST_AT_ONCE]
        ids = [",".join(some)] if queue.are_joined else some
        yield machine.run((*words, *ids), seconds=QUERY_SECONDS)


def _checked(answer: Answer, command: str, unknown_job: str) -> str:
    """The output of a query. Raises NoAnswer if it failed for more than jobs that are gone."""
    errors = [line for line in answer.errors.splitlines() if line.strip()]
    others = [line for line in errors if not re.search(unknown_job, line)]
    own = [line for line in others if line.startswith(f"{command}:")]
    if answer.status == 0 or (answer.status and len(others) < len(errors) and not own):
        return answer.output
    raise NoAnswer((own or others or [f"{command} ended with status {answer.status}"])[-1])


def _by_id(found: Mapping[str, JobStatus], jobs: Iterable[str]) -> dict[str, JobStatus]:
    """The states by the ids that were asked for: PBS may add or shorten the server's name."""
    numbers = {job.partition(".")[0]: status for job, status in found.items()}
    return {job: numbers[key] for job in jobs if (key := job.partition(".")[0]) in numbers}
