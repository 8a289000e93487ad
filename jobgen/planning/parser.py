"""Reads the command in a script's header, with click.

Other modules import this one only for a header, since click takes a while to import.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any

import click

from jobgen.errors import problem
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.option_row import RANKS


def parse_command(words: Sequence[str]) -> Job:
    """Returns the job for the words that follow `jobgen` in a script's header.

    Options that say what to do with a script are not allowed there. Raises JobgenError for these,
    and for any other mistake.
    """
    command, *others = words or ("",)
    if command not in RANKS:
        hint = f"one of: {', '.join(sorted(RANKS))}"
        raise problem(f"jobgen {command:.80}", "no command that makes a script", "usage", hint)
    try:
        values, program, _ = _parser(command).parse_args(others)
    except (click.NoSuchOption, click.BadOptionUsage) as error:
        raise problem(f"jobgen {command}", _mistake(command, error), "usage") from None
    for name, value in values.items():
        values[name] = tuple(value) if isinstance(value, list) else value
    return Job(command, **values, program=tuple(program))


def _mistake(command: str, error: click.NoSuchOption | click.BadOptionUsage) -> str:
    flag = f"{error.option_name:.80}"
    if isinstance(error, click.NoSuchOption):
        return f"no option {flag} of a script"
    row = next(row for _, row in job_options(command) if error.option_name in row.flags)
    return f"{flag} has no value" if row.metavar else f"{flag} takes no value"


@cache
def _parser(command: str) -> Any:
    """Returns click's parser for the options of a job; the words that remain are the program.

    A whole click.Context takes ten times as long, since it sets the defaults of all options, and
    `jobgen check` reads thousands of headers.
    """
    options: list[click.Parameter] = [
        click.Option([*row.flags, field], **row.for_click) for field, row in job_options(command)
    ]
    job_command = click.Command(command, params=options, add_help_option=False)
    return job_command.make_parser(click.Context(job_command, allow_interspersed_args=False))
