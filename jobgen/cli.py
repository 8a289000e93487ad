"""The command line; a command's options are made when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from jobgen import __version__
from jobgen.overview import NAMES, PLANNING, overview

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Usage(click.Group):
    """A group that runs its `list` when no command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        named = args or "list" not in self.commands or ctx.resilient_parsing  # as completion does
        return super().parse_args(ctx, args if named else ["list"])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)


class Main(Usage):
    """Its commands are those of COMMANDS, made when one is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return NAMES

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in NAMES and name not in self.commands:
            import_module("jobgen.jobs" if name in PLANNING else "jobgen.tools")
        return super().get_command(ctx, name)

    def get_help(self, ctx: click.Context) -> str:
        return overview()


def section(
    formatter: click.HelpFormatter, heading: str, rows: Sequence[tuple[str, str]], width: int
) -> None:
    """Write rows in columns that are the same under all headings."""
    if rows:
        with formatter.section(heading):
            formatter.write_dl([(f"{name:<{width}}", text) for name, text in rows], width)


def offered(_: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """What completes a parameter's value, by its metavar."""
    from click.shell_completion import CompletionItem

    from jobgen.completion import values

    found = values(parameter.metavar or "", incomplete)
    return [CompletionItem(item.value, item.kind) for item in found]


@click.group(cls=Main, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="jobgen")
def main() -> None:
    """Write the batch script for a multi-node PyTorch job."""


def answer(words: list[str]) -> int:
    """Run what the words of a command line ask for; the exit code."""
    try:
        return main(words, "jobgen", standalone_mode=False) or 0
    except click.Abort:  # what click makes of Ctrl-C
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        if sys.stderr is not None:  # closed; click would take stdout, which may go to sbatch
            error.show()
        return error.exit_code
