"""The commands that plan no job: check, build, rules, profiles, trainers and others.

Each is a click command with its help; what it does is a function in cli/actions.
"""

from __future__ import annotations

from typing import Any

import click

from jobgen.cli.app import Group, complete_value, main


@main.command()
@click.argument(
    "paths", nargs=-1, required=True, metavar="FILE|FOLDER...", shell_complete=complete_value
)
@click.option("--fix", is_flag=True, help="Generate stale scripts again; files keep their mode.")
@click.option(
    "--force", is_flag=True, help="With --fix, edited scripts, too: their edits are lost."
)
def check(paths: tuple[str, ...], fix: bool, force: bool) -> int:
    """Check whether generated scripts are still what jobgen makes.

    Every script is generated again from the command in its header, which no shell ever sees, and
    compared: it is current, edited by hand, stale (with the reason: the profile, a template, the
    trainer, the machinery or jobgen has changed), or no longer possible. Profiles and templates are
    searched in the script's own repository: the nearest folder above it with .git, jobgen.yaml,
    profiles/*.yaml or templates/*.j2. Other files are skipped. The exit code is 0 if all are
    current, 1 if any is not.
    """
    from jobgen.repository.check import check_all

    return check_all(paths, fix, force)


@main.command()
@click.argument("manifest", default="jobgen.yaml", metavar="[FILE]", shell_complete=complete_value)
@click.option("--prune", is_flag=True, help="Remove scripts that the manifest no longer has.")
@click.option(
    "--force", is_flag=True, help="Replace edited scripts and those of other manifests, too."
)
@click.option(
    "-n", "--dry-run", is_flag=True, help="Only show what would change; exit 1 if anything would."
)
def build(manifest: str, prune: bool, force: bool, dry_run: bool) -> int:
    """Write the scripts of a manifest.

    A manifest is a YAML file of jobs, with defaults and a matrix of values: one script for each
    combination. The default FILE is jobgen.yaml. Only files that change are written, and none
    unless all can be made. --prune searches only the folders in which the patterns of the files
    begin, and those below, for scripts whose headers name this manifest.
    """
    from jobgen.repository.build import build_all

    return build_all(manifest, prune, force, dry_run)


@main.command()
@click.argument("code", required=False, metavar="[CODE]", shell_complete=complete_value)
def rules(code: str | None) -> int:
    """The rules of lint, or the page of one.

    A page explains what the rule finds, why that fails, the evidence, and the cure.
    """
    from jobgen.cli.actions import show_rules

    return show_rules(code)


@main.command()
@click.option("--partition", metavar="NAME", help="Slurm: the partition that the profile is for.")
@click.option("--queue", metavar="NAME", help="PBS: the queue that the profile is for.")
@click.option("--account", metavar="NAME", default="", help="The account that jobs are charged to.")
@click.option(
    *("--directive", "directives"),
    metavar="OPTION",
    multiple=True,
    help="What the site demands of every job, as for sbatch or qsub. Repeatable.",
)
@click.option("--probe", is_flag=True, help="Ask one compute node, too, with a job of a minute.")
@click.option(
    "--probe-limit",
    metavar="SECONDS",
    type=click.FloatRange(1, 86400),
    default=300,
    help="How long --probe waits for its job before it cancels it; default: 300.",
)
@click.option(
    *("-o", "--output"), metavar="FILE", help="Write to FILE.", shell_complete=complete_value
)
def detect(output: str | None, **options: Any) -> int:
    """Write a profile of the cluster that it runs on.

    On a login node of Slurm or PBS, it takes a few seconds. The profile is for one kind of nodes
    of one partition or queue: of the default one or, if that has no GPUs, the one with the most;
    comments list the others. What is not known is a comment that says how to find out. The exit
    code is 1 if the scheduler or, with --probe, the node does not answer.
    """
    from jobgen.detection.detect import Options, detect

    return detect(Options(**options), output)


@main.group(cls=Group)
def profiles() -> None:
    """The clusters: list, show NAME, explain KEY, validate FILE..., schema."""


@profiles.command("list")
def _profiles_list() -> int:
    """All profiles, with their descriptions: your own, and those that come with jobgen."""
    from jobgen.cli.lookup.profile_list import list_profiles

    return list_profiles()


@profiles.command("show")
@click.argument("name", metavar="PROFILE|FILE", shell_complete=complete_value)
@click.option(
    "--set", "sets", metavar="PATH=VALUE", multiple=True, help="Override a value, as for a job."
)
def _profiles_show(name: str, sets: tuple[str, ...]) -> int:
    """A profile, with the origin of each of its values."""
    from jobgen.cli.actions import show_profile

    return show_profile(name, sets)


@profiles.command("explain")
@click.argument("key", required=False, metavar="[KEY]", shell_complete=complete_value)
def _profiles_explain(key: str | None) -> int:
    """What a key of a profile means, what it may be, its default, and an example.

    A group of keys such as `request` lists them; without KEY, all are listed.
    """
    from jobgen.cli.lookup.key_pages import explain

    return explain(key or "")


@profiles.command("validate")
@click.argument("files", nargs=-1, required=True, metavar="FILE...", shell_complete=complete_value)
def _profiles_validate(files: tuple[str, ...]) -> int:
    """Check profiles.

    Shows every problem with its file, line and column; the exit code is 1 if there is any.
    """
    from jobgen.cli.actions import validate_profiles

    return validate_profiles(files)


@profiles.command("schema")
def _profiles_schema() -> int:
    """The JSON Schema of a profile, for editors."""
    from jobgen.cli.actions import print_schema

    return print_schema()


@main.group(cls=Group)
def trainers() -> None:
    """The packaged trainers: list, show NAME, export NAME."""


@trainers.command("list")
def _trainers_list() -> int:
    """All packaged trainers, with what they do."""
    from jobgen.cli.actions import list_trainers

    return list_trainers()


@trainers.command("show")
@click.argument("name", metavar="TRAINER", shell_complete=complete_value)
def _trainers_show(name: str) -> int:
    """The text of a trainer, on stdout."""
    from jobgen.cli.actions import export_trainer

    return export_trainer(name, "-")


@trainers.command("export")
@click.argument("name", metavar="TRAINER", shell_complete=complete_value)
@click.option(
    *("-o", "--output"),
    metavar="FILE",
    help="The file; the default is TRAINER.py here.",
    shell_complete=complete_value,
)
def _trainers_export(name: str, output: str | None) -> int:
    """Write a trainer to a file, to keep it in a job's repository."""
    from jobgen.cli.actions import export_trainer

    return export_trainer(name, output or f"{name}.py")


@main.group(cls=Group)
def templates() -> None:
    """The templates: list, show NAME."""


@templates.command("list")
def _templates_list() -> int:
    """All bundled templates."""
    from jobgen.cli.actions import list_templates

    return list_templates()


@templates.command("show")
@click.argument("name", metavar="TEMPLATE", shell_complete=complete_value)
def _templates_show(name: str) -> int:
    """The text of a template, as jobgen finds it from here."""
    from jobgen.cli.actions import show_template

    return show_template(name)


@main.group(cls=Group)
def machinery() -> None:
    """The parts that make the lower half of a script: list, show NAME..."""


@machinery.command("list")
def _machinery_list() -> int:
    """All parts in the order of a script, with what a script has that has them.

    A word such as `stage` is a feature of the script; `-stage` says that it has it not.
    """
    from jobgen.cli.lookup.machinery import list_machinery

    return list_machinery()


@machinery.command("show")
@click.argument("names", nargs=-1, required=True, metavar="PART...", shell_complete=complete_value)
def _machinery_show(names: tuple[str, ...]) -> int:
    """The text of parts; `keeper` and `lead` are programs that some scripts carry."""
    from jobgen.cli.lookup.machinery import show_machinery

    return show_machinery(names)


@main.command()
@click.argument(
    "shell",
    metavar="bash|zsh|fish",
    type=click.Choice(["bash", "zsh", "fish"]),
    shell_complete=complete_value,
)
def completion(shell: str) -> int:
    """The script that completes jobgen's words in a shell.

    \b
    For every new shell, add the line to the file:
      ~/.bashrc                   eval "$(jobgen completion bash)"
      ~/.zshrc, after compinit    eval "$(jobgen completion zsh)"
      ~/.config/fish/config.fish  jobgen completion fish | source
    """
    from jobgen.cli.actions import print_completion

    return print_completion(shell, main)
