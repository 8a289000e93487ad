"""The main group of commands, in which each command is imported when it is called."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click
from click.shell_completion import CompletionItem

from jobgen import __version__
from jobgen.errors import printable
from jobgen.scripts.write import write

if TYPE_CHECKING:
    from jobgen.planning.option_row import Option

COMMANDS = {
    "Write a script": {
        "sbatch": "The script for Slurm, on stdout.",
        "qsub": "The script for PBS, on stdout.",
        "local": "The script for this machine alone.",
    },
    "Keep scripts": {
        "build": "Write the scripts of a manifest, and submit and follow their jobs.",
        "check": "Check whether generated scripts are still what jobgen makes.",
        "store": "Copies of code and environments for jobs: build, list, remove.",
        "lint": "Find what goes wrong with job scripts.",
        "rules": "The rules of lint, or the page of one.",
    },
    "Work by hand": {
        "interactive": "The command that requests nodes and a shell.",
        "byhand": "The torchrun command for each host, to paste.",
    },
    "Check a cluster": {"doctor": "The script of a job that measures each node and the network."},
    "Find what failed": {"why": "Find what failed first in a job, from its output."},
    "See what ran": {"runs": "The jobs of a folder: list, show JOBID, diff A B, again JOBID."},
    "Look up": {
        "detect": "Write a profile of the cluster that it runs on.",
        "profiles": "The clusters: list, show NAME, explain KEY, validate, prove NAME, update.",
        "trainers": "The packaged trainers: list, show NAME, export NAME.",
        "templates": "The templates: list, show NAME.",
        "machinery": "The parts that make the lower half of a script: list, show NAME...",
        "completion": "The script that completes jobgen's words in a shell.",
    },
    "Serve a site": {
        "page": "Write a web page on which people make scripts.",
        "guard": "Lint each script at its submission: slurm, pbs, serve, report.",
    },
    "Help coding agents": {
        "mcp": "Answer an agent's questions, by the Model Context Protocol.",
        "agents-file": "Write AGENTS.md for a repository of job scripts.",
    },
}
_MODULES = {
    **dict.fromkeys([*COMMANDS["Write a script"], *COMMANDS["Work by hand"]], "job_commands"),
    **dict.fromkeys(["lint", "rules"], "lint_command"),
    "doctor": "doctor_command",
    "guard": "guard_command",
    "machinery": "machinery_commands",
    "profiles": "profile_commands",
    "runs": "runs_command",
    "store": "store_command",
    "why": "why_command",
}
Run = Callable[..., Any]  # the function of a command
TEXTS = {name: text for texts in COMMANDS.values() for name, text in texts.items()}
NAMES = list(TEXTS)

_HEAD = """\
Usage: jobgen [OPTIONS] COMMAND [ARGS]...

  Write the batch script for a multi-node PyTorch job.

    jobgen sbatch --profile mi210 -N 3 | sbatch
    jobgen sbatch --profile mi210 -N 3 -- train.py --lr 0.1 | sbatch
    jobgen qsub --profile eap -N 2 | qsub
    jobgen local | bash
"""
_OPTIONS = {"--version": "Show the version and exit.", "-h, --help": "Show this message and exit."}
# Words such as -queue, which click reads as short options; and words that begin with a long dash.
_UNUSUAL_DASH = re.compile("-[a-zA-Z][a-z_-]+(=.*)?|[–—].*", re.DOTALL).fullmatch
SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


class Command(click.Command):
    """A command whose error about an unknown option says what to write instead."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words; returns those that click did not use. Raises click.UsageError."""
        options = args[: args.index("--")] if "--" in args else args
        if not ctx.resilient_parsing and any(map(_UNUSUAL_DASH, options)):
            from jobgen.cli.mistakes.usage_errors import dash_error

            if error := dash_error(self, ctx, args, options):
                raise error
        try:
            return super().parse_args(ctx, [*args])
        except click.UsageError as error:
            from jobgen.cli.mistakes.usage_errors import other_error

            raise other_error(self, ctx, args, error) from None


class Group(click.Group):
    """A group of commands that runs its command `list` if the user names none."""

    command_class = Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        is_named = args or "list" not in self.commands or ctx.resilient_parsing  # for completion
        try:
            return super().parse_args(ctx, [*args] if is_named else ["list"])
        except click.NoSuchOption as error:
            from jobgen.cli.mistakes.usage_errors import early_option

            raise early_option(self, ctx, args, error) from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if not ctx.resilient_parsing and self.get_command(ctx, args[0]) is None:
            from jobgen.cli.mistakes.other_commands import command_problem

            ctx.fail(command_problem(ctx, self, args))
        return super().resolve_command(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)


class MainGroup(Group):
    """The main group: imports the module of a command when the command is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return NAMES

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name in NAMES and name not in self.commands:
            import_module(f"jobgen.cli.commands.{_MODULES.get(name, 'tool_commands')}")
        return super().get_command(ctx, name)

    def get_help(self, ctx: click.Context) -> str:
        return overview()

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """The matching names of commands, without importing them, and the matching options."""
        names = [name for name in NAMES if name.startswith(incomplete)]
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*(CompletionItem(name, help=TEXTS[name]) for name in names), *options]


def overview() -> str:
    """The help of jobgen: a line for each command under its heading, and the main options."""
    text = _HEAD
    for heading, rows in {**COMMANDS, "Options": _OPTIONS}.items():
        width = 12 if rows is not _OPTIONS else 10
        text += f"\n{heading}:\n"
        text += "".join(f"  {name:<{width}}  {line}\n" for name, line in rows.items())
    return text.rstrip("\n")


def columns(rows: Sequence[Sequence[str]]) -> str:
    """The rows as lines of text in aligned columns."""
    rows = [[printable(text) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(f"{text:<{w}}" for text, w in zip(row, widths, strict=True)) for row in rows)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def complete_value(_: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """The completions for the value of a parameter, by the parameter's metavar."""
    from jobgen.cli.completion import values

    return values(parameter.metavar or "", incomplete)


class RowOption(click.Option):
    """The option of click that a row of the option table describes."""

    def __init__(self, field: str, row: Option) -> None:
        words = [*row.flags, field]
        super().__init__(words, help=row.help, shell_complete=complete_value, **row.for_click)
        self.group = row.group


def command_group(name: str) -> Group:
    """A new group of commands, which is added to the main group."""
    made = Group(name, help=TEXTS[name])
    main.add_command(made)
    return made


def option(spelling: str, help: str, *names: str, **more: Any) -> Callable[[Run], Run]:
    """The decorator for an option, spelled as in a manual: `-o --output FILE`.

    A metavar such as `CODE...` makes the option repeatable; `text|json` lists all its values.
    `names` is the parameter's name if it differs from the option's.
    """
    *flags, metavar = spelling.split(" ")
    if metavar.startswith("-"):
        return click.option(*flags, metavar, *names, help=help, is_flag=True)
    if metavar.endswith("..."):
        metavar, help, more = metavar.removesuffix("..."), f"{help} Repeatable.", {"multiple": True}
    if metavar.islower():
        more["type"] = click.Choice(metavar.split("|"))
    more |= {"metavar": metavar, "shell_complete": complete_value}
    return click.option(*flags, *names, help=help, **more)


# A decorator for an argument of a command; its metavar decides how a value is completed.
argument = partial(click.argument, shell_complete=complete_value)


@click.group(cls=MainGroup, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="jobgen")
def main() -> None:
    """Write the batch script for a multi-node PyTorch job."""


def run_words(words: list[str]) -> int:
    """Run the command that the words of a command line name; returns the exit code."""
    if words in (["--version"], ["-h"], ["--help"]):  # click does not report a closed stdout
        write(f"jobgen, version {__version__}\n" if words == ["--version"] else f"{overview()}\n")
        return 0
    try:
        return main(words, "jobgen", standalone_mode=False) or 0
    except click.Abort:  # click's name for Ctrl-C
        raise KeyboardInterrupt from None
    except click.ClickException as error:
        if sys.stderr is not None:  # without stderr, click would write to stdout
            error.show()
        return error.exit_code
