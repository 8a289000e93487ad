"""The command `jobgen lint`, for click: for help, for completion and for mistakes."""

from __future__ import annotations

from typing import Any

import click

from jobgen.cli.app import complete_value, main
from jobgen.cli.lint.options import FORMATS, OPTIONS
from jobgen.planning.option_row import Option

HELP = """\
Find what goes wrong with job scripts.

Reads any sbatch or PBS script, generated or not; in a folder, the files with #SBATCH or #PBS
lines; in a .md or .rst file, the scripts that it shows; - is stdin. The exit code is 1 if there is
a finding, and 2 if a file cannot be read or written.
A comment `# jobgen: ignore=CODE reason`, on a line or above it, turns a rule off there;
[tool.jobgen.lint] in pyproject.toml may have `select`, `ignore`, `also` and `profile`.
--fix changes no command of a script. With -, it writes the script to stdout and the findings to
stderr.
"""


def _run(files: tuple[str, ...], **options: Any) -> int:
    from jobgen.cli.lint.actions import lint_files

    return lint_files(files, **options)


def _parameter(name: str, row: Option) -> click.Option:
    settings: dict[str, Any] = {"is_flag": True}
    if row.metavar:
        settings = {
            "metavar": row.metavar,
            "multiple": row.repeatable,
            "shell_complete": complete_value,
        }
    if name == "format":
        settings |= {"type": click.Choice(FORMATS), "default": FORMATS[0]}
    return click.Option([*row.flags, name], help=row.help, **settings)


_files = click.Argument(
    ["files"], nargs=-1, required=True, metavar="FILE...", shell_complete=complete_value
)
_options = [_parameter(name, row) for name, row in OPTIONS.items()]
main.add_command(click.Command("lint", callback=_run, params=[_files, *_options], help=HELP))
