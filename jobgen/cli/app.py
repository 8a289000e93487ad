"""The command line: a group of commands, each made when it is called."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Any

import click

from jobgen import __version__
from jobgen.cli.help import JOB_COMMANDS, NAMES, overview

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Group(click.Group):
    """A group that runs its command `list` when none is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_named = args or "list" not in self.commands or ctx.resilient_parsing  # for completion
        return super().parse_args(ctx, args if is_named else ["list"])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)


class MainGroup(Group):
    """Makes a command when it is asked for, by importing its module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return NAMES

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in NAMES and name not in self.commands:
            other = "job_commands" if name in JOB_COMMANDS else "tool_commands"
            own_folder = name in ("doctor", "lint", "page", "why")
            import_module(f"jobgen.cli.{f'{name}.command' if own_folder else other}")
        return super().get_command(ctx, name)

    def get_help(self, ctx: click.Context) -> str:
        return overview()


def write_section(
    formatter: click.HelpFormatter, heading: str, rows: Sequence[tuple[str, str]], width: int
) -> None:
    """Write rows in two columns, of the same width under all headings."""
    if rows:
        with formatter.section(heading):
            formatter.write_dl([(f"{name:<{width}}", text) for name, text in rows], width)


def complete_value(_: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """What completes the value of a parameter, by its metavar."""
    from click.shell_completion import CompletionItem

    from jobgen.cli.completion import values

    found = values(parameter.metavar or "", incomplete)
    return [CompletionItem(item.value, item.kind) for item in found]


@click.group(cls=MainGroup, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="jobgen")
def main() -> None:
    """Write the batch script for a multi-node PyTorch job."""


def run_words(words: list[str]) -> int:
    """Run the command that the words of a command line name; returns its exit code."""
    try:
        return main(words, "jobgen", standalone_mode=False) or 0
    except click.Abort:  # click's name for Ctrl-C
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        if sys.stderr is not None:  # if it is closed, click would write to stdout
            error.show()
        return error.exit_code
