"""Jobs that a scheduler has taken: what Slurm and PBS have to provide so that jobs are followed."""

from __future__ import annotations

from importlib import import_module
from typing import NamedTuple, Protocol, cast

from jobgen.schedulers import MODULES


class Standing(NamedTuple):
    """How a job stands, in its scheduler's words."""

    state: str
    note: str = ""  # why it waits, or how it ended
    restarts: int = 0
    elapsed: str = ""
    output: str = ""  # the file
    status: int | None = None  # the exit status that tells how it ended; None until it is over
    parts: tuple[tuple[str, int | None], ...] = ()  # the same of an array's jobs, by their ids


class Queue(Protocol):
    """A scheduler's module has these names, too, if jobs can be given to it."""

    SUBMIT: tuple[str, ...]  # the command that takes a script on stdin and prints the job's id
    BLOCK: tuple[str, ...]  # what makes it stay until the job ends, and end with its exit status
    GONE: str  # what it answers when it has forgotten a job, as a regular expression

    @staticmethod
    def submitted(line: str) -> tuple[str, str] | None:
        """The job's id and its cluster, if that is named; None if `line` is something else."""

    @staticmethod
    def questions(job: str, cluster: str) -> tuple[tuple[str, ...], ...]:
        """Commands that tell how a job stands; the next one is for when one does not know."""

    @staticmethod
    def standing(answer: str) -> Standing | None:
        """What such a command's output says; None if it says nothing of a job."""

    @staticmethod
    def cancel(job: str, cluster: str) -> tuple[str, ...]:
        """The command that ends a job."""


def queue(name: str) -> Queue:
    """The scheduler of that name, Slurm or PBS."""
    return cast(Queue, import_module(MODULES[name]))
