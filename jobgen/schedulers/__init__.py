"""The schedulers: what one has to provide, and which there are."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from jobgen import shell
from jobgen.errors import problem

if TYPE_CHECKING:
    from jobgen.plan import Plan


class Scheduler(Protocol):
    """A scheduler is a module with these names."""

    TEMPLATE: str  # its template
    VARIABLES: tuple[str, ...]  # what it tells a rank in the environment
    NAME_RULE: str  # a job's name, as a regular expression
    NAME_RULE_IN_WORDS: str
    TIME_RULE_IN_WORDS: str  # how a walltime is written
    ARRAY_INDEX: str  # the variable with a job's number in its array
    LAUNCHERS: tuple[str, ...]
    ELASTIC: bool  # whether a job can have from MIN to MAX nodes
    SIGNALS: bool  # whether it warns a job before its walltime
    REQUEUES_AT_WALLTIME: bool  # whether a job can put itself back into the queue

    @staticmethod
    def seconds(walltime: str) -> int | None:
        """The length of a walltime, or None where the scheduler would not read it."""

    @staticmethod
    def directives(plan: Plan) -> tuple[str, ...]:
        """The lines that ask for the job. Raises JobgenError for a value that it cannot carry."""

    @staticmethod
    def output_folder(plan: Plan) -> str:
        """The folder of the job's output, as it is known before the job is; "" for none.

        Raises JobgenError where only the scheduler will know it.
        """

    @staticmethod
    def lost_without(plan: Plan) -> str:
        """What happens to the output without its folder; "" where the script makes it."""

    @staticmethod
    def interactive(plan: Plan) -> tuple[str, ...]:
        """The words of the command that asks for the same nodes and a shell on the first."""


MODULES = {name: f"jobgen.schedulers.{name}" for name in ("slurm", "pbs", "local")}


def scheduler(name: str) -> Scheduler:
    """The scheduler of that name; imported when it is needed."""
    return cast(Scheduler, import_module(MODULES[name]))


COMMANDS = {"slurm": "sbatch", "pbs": "qsub", "local": "local"}


def seen(value: str, where: str) -> str:
    """A directive's value; `where` names it. Raises JobgenError if not all of it can be seen."""
    if shell.has_unseen(value):
        text = f"{value!a:.80} has a character that cannot be seen"
        raise problem(where, text, "value", "a directive is one line that can be read")
    return value
