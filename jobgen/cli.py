"""The command line: options and help. What a command does is imported when it runs."""

from __future__ import annotations

import os
import sys
from typing import Any

import click

from jobgen import __version__
from jobgen.errors import handled
from jobgen.job import BATCH, RANKS, Job, Option, options

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def run() -> None:
    """The program `jobgen`: its arguments as the UTF-8 text they are, whatever the locale says."""
    words = [os.fsencode(word).decode("utf-8", "surrogateescape") for word in sys.argv[1:]]

    def command() -> int:
        try:
            return main(words, "jobgen", standalone_mode=False) or 0
        except click.Abort:  # what click makes of Ctrl-C
            raise KeyboardInterrupt from None
        except click.ClickException as error:
            error.show()
            return error.exit_code

    sys.exit(handled(command))


class Usage(click.Group):
    """A group that runs its `list` when no command is named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or (["list"] if "list" in self.commands else []))


@click.group(cls=Usage, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="jobgen")
def main() -> None:
    """Write the batch script for a multi-node PyTorch job.

    \b
      jobgen sbatch --profile mi210 -N 3 | sbatch
      jobgen sbatch --profile mi210 -N 3 -- train.py --lr 0.1 | sbatch
      jobgen qsub --profile eap -N 2 | qsub
      jobgen local | bash
    """


def _value(row: Option) -> dict[str, Any]:
    if not row.metavar:
        return {"is_flag": True, "flag_value": "true", "default": None}
    return {"metavar": row.metavar, "multiple": row.many}


def _command(name: str, does: str, text: str) -> None:
    """Add a command whose options are the rows of Job; `does` is its function in `commands`."""

    def callback(program: tuple[str, ...] = (), **said: Any) -> int:
        from jobgen import commands

        # What is done with the script is not the job's: its header does not repeat it.
        how = {
            option: said.pop(option) for option in ("output", "submit", "wait") if option in said
        }
        job = Job(command=name, program=program, **said)
        return int(getattr(commands, does)(job, **how))

    parameters: list[click.Parameter] = [
        click.Option([*row.flags, field], help=row.help, **_value(row))
        for field, row in options(name)
    ]
    if name in BATCH:
        parameters += [
            click.Option(
                ["--submit"], is_flag=True, help=f"Give it to {name}; print the job's id."
            ),
            click.Option(
                ["--wait"], is_flag=True, help="The same, and follow the job; exit as it does."
            ),
        ]
    if name in RANKS:
        parameters += [
            click.Option(
                ["-o", "--output"], metavar="FILE", help="Write to FILE, at once and executable."
            ),
            click.Argument(
                ["program"], nargs=-1, type=click.UNPROCESSED, metavar="[-- PROGRAM ARGS...]"
            ),
        ]
    main.add_command(
        click.Command(
            name,
            callback=callback,
            params=parameters,
            help=text,
            context_settings={"allow_interspersed_args": False},
        )
    )


_command(
    "sbatch",
    "generate",
    "The script for Slurm, on stdout.\n\n"
    "PROGRAM is a Python script (*.py), -m MODULE or a command; without one the profile's trainer"
    " runs. Example:\n\n  jobgen sbatch --profile mi210 -N 3 -- train.py --lr 0.1 | sbatch",
)
_command(
    "qsub",
    "generate",
    "The script for PBS, on stdout.\n\n"
    "PROGRAM is a Python script (*.py), -m MODULE or a command; without one the profile's trainer"
    " runs. Example:\n\n  jobgen qsub --profile eap -N 2 -- train.py --lr 0.1 | qsub",
)
_command(
    "local",
    "generate",
    "The script for this machine alone.\n\n"
    "Its nodes are loopback addresses. Without --profile, the profile `local`. Example:\n\n"
    "  jobgen local -N 2 -- train.py | bash",
)
_command(
    "interactive",
    "ask",
    "The line that asks for nodes and a shell.\n\nsalloc for Slurm, qsub -I for PBS. Example:\n\n"
    '  eval "$(jobgen interactive --profile mi210 -N 2)"',
)
_command(
    "byhand",
    "by_hand",
    "The torchrun lines to paste, one a host.\n\n"
    "The hosts as Slurm prints them, as PBS's exec_host, or a file of them (a PBS_NODEFILE)."
    " Example:\n\n"
    "  jobgen byhand --profile mi210 --hosts smc-r07-[07-08] -- train.py --lr 0.1",
)


@main.group(cls=Usage)
def profiles() -> None:
    """The clusters: list, show NAME, validate FILE..., schema."""


@profiles.command("list")
def _profiles_list() -> int:
    """Every profile, with what it is."""
    from jobgen.commands import list_profiles

    return list_profiles()


@profiles.command("show")
@click.argument("name")
@click.option("--set", "sets", metavar="PATH=VALUE", multiple=True, help="As for a job.")
def _profiles_show(name: str, sets: tuple[str, ...]) -> int:
    """A profile, and where each of its values comes from."""
    from jobgen.commands import show_profile

    return show_profile(name, sets)


@profiles.command("validate")
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
def _profiles_validate(files: tuple[str, ...]) -> int:
    """Say all that is wrong with profiles.

    Every problem with its file, line and column; exit 1 if there is any.
    """
    from jobgen.commands import validate_profiles

    return validate_profiles(files)


@profiles.command("schema")
def _profiles_schema() -> int:
    """The JSON Schema of a profile, for editors."""
    from jobgen.commands import print_schema

    return print_schema()


@main.group(cls=Usage)
def trainers() -> None:
    """The packaged trainers: list, show NAME, export NAME."""


@trainers.command("list")
def _trainers_list() -> int:
    """Every packaged trainer, with what it does."""
    from jobgen.commands import list_trainers

    return list_trainers()


@trainers.command("show")
@click.argument("name")
def _trainers_show(name: str) -> int:
    """The text of a trainer, on stdout."""
    from jobgen.commands import export_trainer

    return export_trainer(name, "-")


@trainers.command("export")
@click.argument("name")
@click.option("-o", "--output", metavar="FILE", help="The file; without it, NAME.py here.")
def _trainers_export(name: str, output: str | None) -> int:
    """Write a trainer to a file, to keep in a job's repository."""
    from jobgen.commands import export_trainer

    return export_trainer(name, output or f"{name}.py")


@main.group(cls=Usage)
def templates() -> None:
    """The templates: list, show NAME."""


@templates.command("list")
def _templates_list() -> int:
    """Every bundled template."""
    from jobgen.commands import list_templates

    return list_templates()


@templates.command("show")
@click.argument("name")
def _templates_show(name: str) -> int:
    """The text of a template, as jobgen would find it from here."""
    from jobgen.commands import show_template

    return show_template(name)
