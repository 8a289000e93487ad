"""The commands that plan a job, for click: sbatch, qsub, local, interactive, byhand.

Their options are the rows of Job, and those of cli/output_options. Words without a mistake need no
click (cli/jobs/words), so this is for help, for completion and for mistakes.
"""

from __future__ import annotations

from typing import Any

import click

from jobgen.cli.app import complete_value, main, write_section
from jobgen.cli.jobs.actions import run_job
from jobgen.cli.output_options import output_options
from jobgen.planning.job_options import job_options
from jobgen.planning.option_row import GROUPS, RANKS, Option


class JobCommand(click.Command):
    """Its options are made when they are asked for, and listed under their headings."""

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        if not self.params:
            self.params = _parameters(str(self.name))
        return super().get_params(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click does it; the error for an option of sbatch, qsub or torchrun says what to write.

        People know these options, and their names are not near to jobgen's.
        """
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            from jobgen.cli.jobs.other_options import own_words

            words = own_words(str(self.name), error.option_name)
            if not words:
                raise
            raise click.UsageError(f"No such option '{error.option_name}'; {words}.", ctx) from None

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        rows: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, click.Option):
                rows[getattr(parameter, "group", GROUPS[-1])].append(record)
        for heading, records in rows.items():
            write_section(formatter, heading, records, 28)


class RowOption(click.Option):
    """The option that a row describes."""

    def __init__(self, field: str, row: Option) -> None:
        settings: dict[str, Any] = {"is_flag": True, "flag_value": row.flag_value, "default": None}
        if row.metavar:
            settings = {
                "metavar": row.metavar,
                "multiple": row.repeatable,
                "shell_complete": complete_value,
            }
        super().__init__([*row.flags, field], help=row.help, **settings)
        self.group = row.group


def _parameters(command: str) -> list[click.Parameter]:
    rows = (*job_options(command), *output_options(command).items())
    parameters: list[click.Parameter] = [RowOption(field, row) for field, row in rows]
    if command in RANKS:
        parameters.append(
            click.Argument(
                ["program"],
                nargs=-1,
                type=click.UNPROCESSED,
                metavar="[-- PROGRAM ARGS...]",
                shell_complete=complete_value,
            )
        )
    return parameters


def _add_command(name: str, text: str) -> None:
    def callback(**fields: Any) -> int:
        return run_job(name, fields)

    settings = {"allow_interspersed_args": False}
    main.add_command(JobCommand(name, callback=callback, help=text, context_settings=settings))


_add_command(
    "sbatch",
    "The script for Slurm, on stdout.\n\n"
    "PROGRAM is a Python script (*.py), -m MODULE or a command; without it, the profile's trainer"
    " runs. Example:\n\n  jobgen sbatch --profile mi210 -N 3 -- train.py --lr 0.1 | sbatch",
)
_add_command(
    "qsub",
    "The script for PBS, on stdout.\n\n"
    "PROGRAM is a Python script (*.py), -m MODULE or a command; without it, the profile's trainer"
    " runs. Example:\n\n  jobgen qsub --profile eap -N 2 -- train.py --lr 0.1 | qsub",
)
_add_command(
    "local",
    "The script for this machine alone.\n\n"
    "Its nodes are loopback addresses. The default profile is `local`. Example:\n\n"
    "  jobgen local -N 2 -- train.py | bash",
)
_add_command(
    "interactive",
    "The command that requests nodes and a shell.\n\n"
    "salloc for Slurm, qsub -I for PBS. Example:\n\n"
    '  eval "$(jobgen interactive --profile mi210 -N 2)"',
)
_add_command(
    "byhand",
    "The torchrun command for each host, to paste.\n\n"
    "The hosts as Slurm prints them, as PBS's exec_host, or a file of them (a PBS_NODEFILE)."
    " Example:\n\n"
    "  jobgen byhand --profile mi210 --hosts smc-r07-[07-08] -- train.py --lr 0.1",
)
