"""The command line: options and help. What a command does is imported when it runs."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import click

from jobgen import __version__
from jobgen.errors import handled
from jobgen.job import BATCH, GROUPS, RANKS, Job, Option, options

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

# The commands of `jobgen --help`, under its headings.
COMMANDS = {
    "Write a script": ("sbatch", "qsub", "local"),
    "Keep scripts": ("build", "check", "lint", "rules"),
    "Work by hand": ("interactive", "byhand"),
    "Look up": ("profiles", "trainers", "templates", "completion"),
}

# Options for what jobgen does with a script: these are no fields of Job, and change no script.
DOING = {
    "output": Option(
        ("-o", "--output"),
        metavar="FILE",
        help="Write to FILE, at once and executable.",
        commands=RANKS,
        group="Output",
    ),
    "submit": Option(
        ("--submit",),
        help="Submit the script, and print the job's id instead of it.",
        commands=BATCH,
        group="Output",
        effect={"sbatch": "`sbatch`", "qsub": "`qsub`"},
    ),
    "wait": Option(
        ("--wait",),
        help="Submit, follow the job on stderr, and exit as it does.",
        commands=BATCH,
        group="Output",
        effect={"sbatch": "`scontrol show job`", "qsub": "`qstat -f`, `qsub -W block=true`"},
    ),
    "mkdir": Option(
        ("--mkdir",),
        help="Make the folder of the job's output, here and now.",
        commands=BATCH,
        group="Output",
    ),
}


def run() -> None:
    """The program `jobgen`: its arguments as the UTF-8 text they are, whatever the locale says."""
    if os.environ.get("_JOBGEN_COMPLETE"):  # a shell asks, by the script of `jobgen completion`
        from jobgen.completion import answer

        sys.exit(answer(main))
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
        named = args or "list" not in self.commands or ctx.resilient_parsing  # as completion does
        return super().parse_args(ctx, args if named else ["list"])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        self.format_commands(ctx, formatter)
        click.Command.format_options(self, ctx, formatter)


class Main(Usage):
    """Its commands are listed under the headings of COMMANDS."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, names in COMMANDS.items():
            rows = [(name, self.commands[name].get_short_help_str(80)) for name in names]
            _section(formatter, heading, rows, 12)


class Script(click.Command):
    """Its options are listed under the headings of their rows; click's own come last."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed: dict[str, list[tuple[str, str]]] = {group: [] for group in GROUPS}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record and isinstance(parameter, click.Option):
                listed[getattr(parameter, "group", GROUPS[-1])].append(record)
        for heading, rows in listed.items():
            _section(formatter, heading, rows, 28)


def _section(
    formatter: click.HelpFormatter, heading: str, rows: Sequence[tuple[str, str]], width: int
) -> None:
    """Write rows in columns that are the same under all headings."""
    if rows:
        with formatter.section(heading):
            formatter.write_dl([(f"{name:<{width}}", text) for name, text in rows], width)


class Row(click.Option):
    """The option that a row tells of."""

    def __init__(self, field: str, row: Option) -> None:
        value: dict[str, Any] = {"is_flag": True, "flag_value": row.value, "default": None}
        if row.metavar:
            value = {"metavar": row.metavar, "multiple": row.many, "shell_complete": offered}
        super().__init__([*row.flags, field], help=row.help, **value)
        self.group = row.group


def offered(_: click.Context, parameter: click.Parameter, incomplete: str) -> list[Any]:
    """What completes a parameter's value, by its metavar."""
    from jobgen.completion import values

    return values(parameter.metavar or "", incomplete)


@click.group(cls=Main, context_settings=SETTINGS)
@click.version_option(__version__, prog_name="jobgen")
def main() -> None:
    """Write the batch script for a multi-node PyTorch job.

    \b
      jobgen sbatch --profile mi210 -N 3 | sbatch
      jobgen sbatch --profile mi210 -N 3 -- train.py --lr 0.1 | sbatch
      jobgen qsub --profile eap -N 2 | qsub
      jobgen local | bash
    """


def _command(name: str, does: str, text: str) -> None:
    """Add a command whose options are the rows of Job; `does` is its function in `commands`."""
    doing = {field: row for field, row in DOING.items() if name in row.commands}

    def callback(program: tuple[str, ...] = (), **said: Any) -> int:
        from jobgen import commands

        done = {field: said.pop(field) for field in doing}
        job = Job(command=name, program=program, **said)
        return int(getattr(commands, does)(job, **done))

    parameters: list[click.Parameter] = [
        Row(field, row) for field, row in (*options(name), *doing.items())
    ]
    if name in RANKS:
        parameters.append(
            click.Argument(
                ["program"],
                nargs=-1,
                type=click.UNPROCESSED,
                metavar="[-- PROGRAM ARGS...]",
                shell_complete=offered,
            )
        )
    main.add_command(
        Script(
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


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="FILE|FOLDER...", shell_complete=offered)
@click.option("--fix", is_flag=True, help="Make what is stale again; the file keeps its mode.")
@click.option("--force", is_flag=True, help="With --fix, also what was edited: the edit is lost.")
def check(paths: tuple[str, ...], fix: bool, force: bool) -> int:
    """Are generated scripts still what jobgen makes?

    Every script is made again from the command in its head, which no shell ever sees, and compared:
    it is current, edited by hand, stale (the profile, a template, the trainer or jobgen has
    changed), or no longer possible. Profiles and templates are looked for in the script's own
    repository: the nearest folder above it with .git, jobgen.yaml, profiles/*.yaml or
    templates/*.j2. Other files are passed over. Exit 0 if all are current, 1 if any is not.
    """
    from jobgen.check import check_all

    return check_all(paths, fix, force)


@main.command()
@click.argument("manifest", default="jobgen.yaml", metavar="[FILE]", shell_complete=offered)
@click.option("--prune", is_flag=True, help="Remove scripts that the manifest no longer has.")
@click.option("--force", is_flag=True, help="Write or remove edited ones, too: the edit is lost.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would change; exit 1 if any.")
def build(manifest: str, prune: bool, force: bool, dry_run: bool) -> int:
    """Write the scripts of a manifest.

    It is a YAML of jobs, with defaults and a matrix of values: one script for each combination.
    Without FILE, it is jobgen.yaml. Only files that change are written, and none unless all can be
    made. --prune looks only into the folders that the manifest writes to, and only for scripts that
    say in their heads that they are of this manifest.
    """
    from jobgen.build import build_all

    return build_all(manifest, prune, force, dry_run)


@main.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=offered)
@click.option(
    "--format",
    metavar="text|json|sarif|github",
    type=click.Choice(["text", "json", "sarif", "github"]),
    default="text",
    help="How findings are written.",
    shell_complete=offered,
)
@click.option(
    *("--select", "select"),
    metavar="CODE",
    multiple=True,
    help="These rules alone; JG2 is all that begin so. Repeatable.",
    shell_complete=offered,
)
@click.option(
    *("--ignore", "ignore"),
    metavar="CODE",
    multiple=True,
    help="Not these rules. Repeatable.",
    shell_complete=offered,
)
@click.option(
    "--profile",
    metavar="PROFILE|FILE",
    help="The cluster the scripts are for: what it has and allows is checked, too.",
    shell_complete=offered,
)
def lint(files: tuple[str, ...], **said: Any) -> int:
    """Say what will go wrong with job scripts.

    Any sbatch or PBS script, generated or not; of a folder, the files in it that have #SBATCH or
    #PBS lines. Exit 1 if there is any finding. What a script says with `# jobgen: ignore=CODE
    reason`, on a line or above it, is left out; [tool.jobgen.lint] in pyproject.toml may have
    `select`, `ignore` and `profile`.
    """
    from jobgen.commands import lint_files

    return lint_files(files, **said)


@main.command()
@click.argument("code", required=False, metavar="[CODE]", shell_complete=offered)
def rules(code: str | None) -> int:
    """What lint looks for: all rules, or the page of one.

    A page says what a rule finds, why that fails, the evidence, and the cure.
    """
    from jobgen.commands import show_rules

    return show_rules(code)


@main.group(cls=Usage)
def profiles() -> None:
    """The clusters: list, show NAME, validate FILE..., schema."""


@profiles.command("list")
def _profiles_list() -> int:
    """Every profile, with what it is."""
    from jobgen.commands import list_profiles

    return list_profiles()


@profiles.command("show")
@click.argument("name", metavar="PROFILE|FILE", shell_complete=offered)
@click.option("--set", "sets", metavar="PATH=VALUE", multiple=True, help="As for a job.")
def _profiles_show(name: str, sets: tuple[str, ...]) -> int:
    """A profile, and where each of its values comes from."""
    from jobgen.commands import show_profile

    return show_profile(name, sets)


@profiles.command("validate")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=offered)
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
@click.argument("name", metavar="TRAINER", shell_complete=offered)
def _trainers_show(name: str) -> int:
    """The text of a trainer, on stdout."""
    from jobgen.commands import export_trainer

    return export_trainer(name, "-")


@trainers.command("export")
@click.argument("name", metavar="TRAINER", shell_complete=offered)
@click.option(
    *("-o", "--output"),
    metavar="FILE",
    help="The file; without it, TRAINER.py here.",
    shell_complete=offered,
)
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
@click.argument("name", metavar="TEMPLATE", shell_complete=offered)
def _templates_show(name: str) -> int:
    """The text of a template, as jobgen would find it from here."""
    from jobgen.commands import show_template

    return show_template(name)


@main.command()
@click.argument(
    "shell",
    metavar="bash|zsh|fish",
    type=click.Choice(["bash", "zsh", "fish"]),
    shell_complete=offered,
)
def completion(shell: str) -> int:
    """The script that completes jobgen's words in a shell.

    \b
    To have it in every shell, add the line to the file:
      ~/.bashrc                   eval "$(jobgen completion bash)"
      ~/.zshrc, after compinit    eval "$(jobgen completion zsh)"
      ~/.config/fish/config.fish  jobgen completion fish | source
    """
    from jobgen.commands import print_completion

    return print_completion(shell, main)
