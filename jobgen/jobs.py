"""The commands that plan a job: their options are the rows of Job."""

from __future__ import annotations

from typing import Any

import click

from jobgen.cli import main, offered, section
from jobgen.job import GROUPS, RANKS, Job, Option, doing, options


class Script(click.Command):
    """Its options are the rows of Job, made when they are asked for; click's own come last."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if not self.params:
            self.params = _parameters(str(self.name))
        return super().get_params(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, click.Option):
                listed[getattr(parameter, "group", GROUPS[-1])].append(record)
        for heading, rows in listed.items():
            section(formatter, heading, rows, 28)


class Row(click.Option):
    """The option that a row tells of."""

    def __init__(self, field: str, row: Option) -> None:
        value: dict[str, Any] = {"is_flag": True, "flag_value": row.value, "default": None}
        if row.metavar:
            value = {"metavar": row.metavar, "multiple": row.many, "shell_complete": offered}
        super().__init__([*row.flags, field], help=row.help, **value)
        self.group = row.group


def _command(name: str, does: str, text: str) -> None:
    """Add a command whose options are the rows of Job; `does` is its function in `commands`."""

    def callback(program: tuple[str, ...] = (), **said: Any) -> int:
        from jobgen import commands

        done = {field: said.pop(field) for field in doing(name)}
        job = Job(command=name, program=program, **said)
        return int(getattr(commands, does)(job, **done))

    settings = {"allow_interspersed_args": False}
    main.add_command(Script(name, callback=callback, help=text, context_settings=settings))


def _parameters(name: str) -> list[click.Parameter]:
    rows = (*options(name), *doing(name).items())
    parameters: list[click.Parameter] = [Row(field, row) for field, row in rows]
    if name in RANKS:
        parameters.append(
            click.Argument(
                ["program"],
                nargs=-1,
                type=click.UNPROCESSED,
                metavar="[-- PROGRAM ARGS...]",
                shell_complete=offered,
            )
        )
    return parameters


_command(
    "sbatch",
    "generate",
    "The script for Slurm, on stdout.\n\n"
    "PROGRAM is a Python script (*.py), -m MODULE or a command; without one the profile's trainer"
    " runs. Example:\n\n  jobgen sbatch --profile mi210 -N 3 -- train.py --lr 0.1 | sbatch",
)
_command(
    "qsub",
    "generate",
    "The script for PBS, on stdout.\n\n"
    "PROGRAM is a Python script (*.py), -m MODULE or a command; without one the profile's trainer"
    " runs. Example:\n\n  jobgen qsub --profile eap -N 2 -- train.py --lr 0.1 | qsub",
)
_command(
    "local",
    "generate",
    "The script for this machine alone.\n\n"
    "Its nodes are loopback addresses. Without --profile, the profile `local`. Example:\n\n"
    "  jobgen local -N 2 -- train.py | bash",
)
_command(
    "interactive",
    "ask",
    "The line that asks for nodes and a shell.\n\nsalloc for Slurm, qsub -I for PBS. Example:\n\n"
    '  eval "$(jobgen interactive --profile mi210 -N 2)"',
)
_command(
    "byhand",
    "by_hand",
    "The torchrun lines to paste, one a host.\n\n"
    "The hosts as Slurm prints them, as PBS's exec_host, or a file of them (a PBS_NODEFILE)."
    " Example:\n\n"
    "  jobgen byhand --profile mi210 --hosts smc-r07-[07-08] -- train.py --lr 0.1",
)
