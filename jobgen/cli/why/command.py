"""The command `jobgen why`: what failed first in a job, from its output."""

from __future__ import annotations

import click

from jobgen.cli.app import complete_value, main


@main.command()
@click.argument(
    "words", nargs=-1, metavar="FILE|FOLDER|JOBID|-|CLASS...", shell_complete=complete_value
)
@click.option(
    "--format",
    metavar="text|json",
    type=click.Choice(["text", "json"]),
    default="text",
    help="The format of the verdict.",
    shell_complete=complete_value,
)
@click.option("--line", is_flag=True, help="The verdict in one line, as a job's last line.")
@click.option("--all", "everything", is_flag=True, help="Also all that follows from the failure.")
@click.option("--list", "listing", is_flag=True, help="The classes of failure that it knows.")
def why(words: tuple[str, ...], format: str, line: bool, everything: bool, listing: bool) -> int:
    """Find what failed first in a job, from its output.

    Reads the output of any job, not of jobgen's scripts alone: files, folders with a file for each
    rank, dumps of torch's flight recorder, or stdin (-). For a job's number, it reads the folder
    that the job left in jobgen-logs, and asks the scheduler for its output and its end. It prints
    the node and rank that failed first, the cause with the lines that show it, what to do, what is
    not the cause, and how sure that is. `jobgen why CLASS` explains a class of failure. The exit
    code is 0 if a cause is found, 1 if none is, and 2 if a file cannot be read.
    """
    from jobgen.cli.why.actions import list_classes, show_class, show_line, show_verdict

    if listing:
        return list_classes()
    if line:
        return show_line(words)
    if len(words) == 1 and (status := show_class(words[0])) is not None:
        return status
    return show_verdict(words, format, everything)
