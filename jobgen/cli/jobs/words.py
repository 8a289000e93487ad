"""The words of a job's command line, read without click: its import takes as long as planning."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from jobgen.cli.jobs.actions import run_job
from jobgen.cli.output_options import output_options
from jobgen.errors import JobgenError
from jobgen.planning.command_line import read_words, rows_by_flag
from jobgen.planning.job_options import job_options
from jobgen.planning.option_row import RANKS


def run_plain(words: Sequence[str]) -> int | None:
    """Run the job's command that the words name; None if click has to say what the words are.

    Such are a wrong option, --help, and a PROGRAM where none may be.
    """
    command, *others = words
    rows = rows_by_flag((*job_options(command), *output_options(command).items()))
    try:
        fields = read_words(command, others, rows)
    except JobgenError:
        return None
    if command not in RANKS and fields.pop("program", ()):
        return None
    try:
        return run_job(command, fields)
    except KeyboardInterrupt:
        if sys.stderr is not None:
            sys.stderr.write("\n")  # after the ^C of the terminal, as click does
        raise
