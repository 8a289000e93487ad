"""The commands beside those that write a script: what they take. Made when one is called."""

from __future__ import annotations

from typing import Any

import click

from jobgen.cli import Usage, main, offered


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
@click.option("--force", is_flag=True, help="Also edited ones, and jobgen's others: both are lost.")
@click.option("-n", "--dry-run", is_flag=True, help="Only say what would change; exit 1 if any.")
def build(manifest: str, prune: bool, force: bool, dry_run: bool) -> int:
    """Write the scripts of a manifest.

    It is a YAML of jobs, with defaults and a matrix of values: one script for each combination.
    Without FILE, it is jobgen.yaml. Only files that change are written, and none unless all can be
    made. --prune looks only into the folders where the patterns of the files begin and those below,
    and only for scripts that say in their heads that they are of this manifest.
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
    "--also",
    metavar="CODE",
    multiple=True,
    help="These rules too, which are not looked for unless named. Repeatable.",
    shell_complete=offered,
)
@click.option(
    "--jobs-only", is_flag=True, help="Pass over named files without #SBATCH or #PBS lines, too."
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
    #PBS lines; of a .md or .rst file, the scripts that it shows. Exit 1 if there is any finding,
    and 2 if something could not be read.
    What a script says with `# jobgen: ignore=CODE reason`, on a line or above it, is left out;
    [tool.jobgen.lint] in pyproject.toml may have `select`, `ignore`, `also` and `profile`.
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

    return print_completion(shell)
