"""The command `jobgen doctor`: the script of a job that measures nodes and network."""

from __future__ import annotations

from typing import Any

import click

from jobgen.cli.app import complete_value, main
from jobgen.cli.job_commands import JobCommand, RowOption
from jobgen.cli.output_options import OUTPUT_OPTIONS
from jobgen.planning.job_options import OPTIONS

# What the user may say of the job that measures: where it runs, and how large it is.
FIELDS = (
    *("profile", "nodes", "gpus_per_node", "time", "partition", "queue", "account", "qos"),
    *("reservation", "constraint", "environment", "set_values", "directives"),
)


def _doctor(report: str | None, **options: Any) -> int:
    from jobgen.cli.doctor.actions import write_report, write_script

    if report is not None:
        return write_report(report, options)
    return write_script({field: options.pop(field) for field in FIELDS}, options)


_rows = {**{field: OPTIONS[field] for field in FIELDS}, **OUTPUT_OPTIONS}
_report = click.Option(
    ["--report"],
    metavar="FILE",
    help="Draw the results of a job that has ended (jobgen-doctor/JOBID.json), as one HTML file:"
    " -o, else FILE with .html.",
    shell_complete=complete_value,
)
main.add_command(
    JobCommand(
        "doctor",
        callback=_doctor,
        params=[_report, *(RowOption(field, row) for field, row in _rows.items())],
        help="The script of a job that measures each node and the network.\n\n"
        "The job takes some minutes. It names the nodes that are slower than the others, prints"
        " the line that excludes them, and leaves all values in jobgen-doctor/JOBID.json. With"
        " --wait, this command follows the job and draws the report. With --wait, or with --report,"
        " the exit code is 1 if something is wrong. Examples:\n\n"
        "  jobgen doctor --profile mi210 -N 8 | sbatch\n\n"
        "  jobgen doctor --report jobgen-doctor/4711.json",
    )
)
