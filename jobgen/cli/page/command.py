"""The command `jobgen page`, for click."""

from __future__ import annotations

import click

from jobgen.cli.app import complete_value, main


@main.command()
@click.option(
    *("-o", "--output"),
    metavar="FOLDER",
    required=True,
    help="The folder; it replaces one that this command made.",
    shell_complete=complete_value,
)
@click.option(
    "--profiles",
    metavar="FOLDER",
    help="The site's own profiles, which come first in the list.",
    shell_complete=complete_value,
)
@click.option("--title", metavar="TEXT", help="The heading of the page.")
@click.option(
    "--notes",
    metavar="FILE",
    help="Text to show below it: plain text, with empty lines between paragraphs.",
    shell_complete=complete_value,
)
@click.option(
    "--packages",
    metavar="FOLDER",
    default=".",
    help="Where the three packages of npm are that the page runs on; default: here.",
    shell_complete=complete_value,
)
def page(
    output: str, packages: str, profiles: str | None, title: str | None, notes: str | None
) -> int:
    """Write a web page on which people make scripts.

    People fill in a form, and jobgen itself runs in their browser: the script has the same bytes
    as that of the command line. The page is a folder of files, for any web server; nothing that
    people type leaves their browser. It needs Pyodide and a parser of bash, which `npm pack`
    downloads; without them, the message has the command.
    """
    from jobgen.cli.page.actions import write_page

    return write_page(output, packages, profiles, title, notes)
