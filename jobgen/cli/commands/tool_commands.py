"""The other commands: check, build, detect, trainers, templates, completion, page, mcp, …"""

import os
import sys
from pathlib import Path
from typing import Any

import click

from jobgen import trainers
from jobgen.cli.app import argument, columns, command_group, main, option
from jobgen.errors import problem, report
from jobgen.paths import to_path
from jobgen.quoting import quote
from jobgen.scripts.write import write

_trust = option("--trust", "Render templates of the repository, too: they are code.")


@main.command()
@argument("paths", nargs=-1, metavar="[FILE|FOLDER...]")
@option("--fix", "Generate stale scripts again; files keep their mode.")
@option("--force", "With --fix, edited scripts, too: their edits are lost.")
@_trust
def check(paths: tuple[str, ...], fix: bool, force: bool, trust: bool) -> int:
    """Check whether generated scripts are still what jobgen makes.

    Every script is generated again from the command in its header, which no shell ever sees, and
    compared: it is current, edited by hand, stale (with the reason: the profile, a template, the
    trainer, the machinery or jobgen has changed), or no longer possible. Profiles and templates are
    searched in the script's own repository: the nearest folder above it with .git, jobgen.yaml,
    profiles/*.yaml or templates/*.j2. Other files are skipped. Without a path, it is the working
    folder. The exit code is 0 if all are current, 1 if any is not.
    """
    from jobgen.cli.mistakes.job_checks import check_paths
    from jobgen.repository.check import check_all

    check_paths(paths)
    return check_all(paths or ["."], fix, force, trust)


@main.command()
@argument("manifest", default="jobgen.yaml", metavar="[FILE]")
@option("--prune", "Remove scripts that the manifest no longer has.")
@option("--force", "Replace edited scripts and those of other manifests, too.")
@option("-n --dry-run", "Only show what would change; exit 1 if anything would.")
@option("--submit", "Submit the jobs that are not submitted yet, or have failed.")
@option("--only NAME...", "Submit only the jobs of this name, such as 'bert-*'.")
@option("--at-once N", "At most N of the manifest's jobs run at once.", type=click.IntRange(1))
@option("--changed", "Also jobs that succeeded before their code or profile changed.")
@option("--wait", "Submit, and follow the jobs; exit 1 if one of them fails.")
@option("--host HOST[:FOLDER]", "Submit there, by ssh, the jobs that name no `host`.")
@_trust
def build(
    manifest: str,
    prune: bool,
    force: bool,
    dry_run: bool,
    trust: bool,
    submit: bool,
    only: tuple[str, ...],
    at_once: int | None,
    changed: bool,
    wait: bool,
    host: str | None,
) -> int:
    """Write the scripts of a manifest, and submit and follow their jobs.

    A manifest is a YAML file of jobs, with defaults and a matrix of values: one script for each
    combination. The default FILE is jobgen.yaml. Only files that change are written, and none
    unless all can be made. --prune searches only the folders in which the patterns of the files
    begin, and those below, for scripts whose headers name this manifest.

    --submit submits each job once: the records in jobgen-logs tell which ones have succeeded, and
    the queue which ones wait or run. So the same command goes on after an error, after Ctrl-C, or
    when jobs have failed. If the code or the profile of a job that succeeded has changed since, it
    says so, and submits the job only with --changed. With --dry-run, it shows what it would submit.
    """
    from jobgen.cli.mistakes.job_checks import check_paths
    from jobgen.repository.build import BuildOptions, build_all

    check_paths([manifest])
    options = BuildOptions(prune, force, dry_run, trust, host or "")
    if submit or wait:
        from jobgen.campaign.campaign import Wish, build_and_submit

        return build_and_submit(manifest, options, Wish(only, at_once, wait, changed))
    needs_submit = {"--only": only, "--at-once": at_once, "--changed": changed, "--host": host}
    for name, value in needs_submit.items():
        if value:
            raise problem(name, "it works only with --submit", "usage", "add --submit, or --wait")
    return build_all(manifest, options)


@main.command()
@option("--partition NAME", "Slurm: the partition that the profile is for.")
@option("--queue NAME", "PBS: the queue that the profile is for.")
@option("--account NAME", "The account that jobs are charged to.", default="")
@option(
    "--directive OPTION...",
    "What the site demands of every job, as for sbatch or qsub.",
    "directives",
)
@option("--probe", "Ask one compute node, too, with a job of a minute.")
@option(
    "--probe-limit SECONDS",
    "How long --probe waits for its job before it cancels it; default: 300.",
    type=click.FloatRange(1, 86400),
    default=300,
)
@option("--host HOST", "Ask the login node HOST by ssh, instead of this machine.")
@option("-o --output FILE", "Write to FILE.")
def detect(output: str | None, **options: Any) -> int:
    """Write a profile of the cluster that it runs on.

    On a login node of Slurm or PBS, it takes a few seconds. The profile is for one kind of nodes
    of one partition or queue: of the default one or, if that has no GPUs, the one with the most;
    comments list the others. What is not known is a comment that says how to find out. The exit
    code is 1 if the scheduler or, with --probe, the node does not answer.
    """
    from jobgen.detection.detect import detect

    return detect(output, **options)


_trainers = command_group("trainers")


@_trainers.command("list")
def _trainers_list() -> int:
    """All packaged trainers, with what they do."""
    write(columns([(name, trainers.summary(name)) for name in trainers.names()]))
    return 0


@_trainers.command("show")
@argument("name", metavar="TRAINER")
def _trainers_show(name: str) -> int:
    """The text of a trainer, on stdout."""
    write(trainers.source(name))
    return 0


@_trainers.command("export")
@argument("name", metavar="TRAINER")
@option("-o --output FILE", "The file; the default is TRAINER.py here.")
def _trainers_export(name: str, output: str | None) -> int:
    """Write a trainer to a file, to keep it in a job's repository."""
    text = trainers.source(name)
    output = output or f"{name}.py"
    if output != "-" and os.path.lexists(to_path(output)):  # true for a broken link, too
        raise problem(f"-o {output}", "the file exists already", "output", "remove it first")
    write(text, output)
    return 0


_templates = command_group("templates")


@_templates.command("list")
def _templates_list() -> int:
    """All bundled templates."""
    from jobgen.scripts.render import template_names

    write("".join(f"{name}\n" for name in template_names()))
    return 0


@_templates.command("show")
@argument("name", metavar="TEMPLATE")
def _templates_show(name: str) -> int:
    """The text of a template, as jobgen finds it from here."""
    from jobgen.scripts.render import template_source

    write(template_source(name))
    return 0


@main.command()
@argument("shell", metavar="bash|zsh|fish", type=click.Choice(["bash", "zsh", "fish"]))
def completion(shell: str) -> int:
    """The script that completes jobgen's words in a shell.

    \b
    For every new shell, add the line to the file:
      ~/.bashrc                   eval "$(jobgen completion bash)"
      ~/.zshrc, after compinit    eval "$(jobgen completion zsh)"
      ~/.config/fish/config.fish  jobgen completion fish | source
    """
    from jobgen.cli.completion import source_script

    write(source_script(shell, main))
    return 0


@main.command()
@option("-o --output FOLDER", "The folder; it replaces one that this command made.", required=True)
@option("--profiles FOLDER", "The site's own profiles, which come first in the list.")
@option("--title TEXT", "The heading of the page.")
@option("--notes FILE", "Text to show below it: plain text, with empty lines between paragraphs.")
@option(
    "--packages FOLDER",
    "Where the three packages of npm are that the page runs on; default: here.",
    default=".",
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
    from jobgen.page.folder import page_files, write_folder
    from jobgen.page.site import is_utf8

    if not is_utf8(title or ""):
        raise problem("--title", "it is not UTF-8 text", "value")
    text = _notes(notes) if notes is not None else ""
    files = page_files(packages, profiles, title, text)
    write_folder(output, files)
    size = sum(map(len, files.values())) / 1e6
    report(f"{output}: {len(files)} files, {size:.0f} MB; to look at the page:")
    report(f"python3 -m http.server --bind 127.0.0.1 -d {quote(output)}")
    return 0


def _notes(file: str) -> str:
    try:
        return to_path(file).read_bytes().decode("utf-8")
    except OSError as error:
        text = f"{file} cannot be read: {error.strerror}"
        raise problem("--notes", text, "unreadable") from None
    except UnicodeDecodeError:
        raise problem("--notes", f"{file} is not UTF-8 text", "unreadable") from None


@main.command()
@option("--folder FOLDER", "The folder that is read, and nothing outside of it.", default=".")
@option("--allow-submit", "Agents may also submit jobs, and write scripts in the folder.")
def mcp(folder: str, allow_submit: bool) -> int:
    """Answer an agent's questions, by the Model Context Protocol.

    \b
    A coding agent starts this command, and talks to it on stdin and stdout. For example:
      claude mcp add jobgen -- jobgen mcp
      codex mcp add jobgen -- jobgen mcp

    The agent can list and show profiles, make a script, lint scripts, check a repository, and ask
    why a job failed. It changes nothing without --allow-submit; with it, an agent can run any
    program as you. It needs the package mcp: pip install 'mcp>=2,<3'.
    """
    try:
        from jobgen.agents.server import serve
    except ImportError:
        text, hint = "the package mcp is not here, or old", "pip install 'mcp>=2,<3'"
        raise problem("jobgen mcp", text, "missing", hint) from None
    path, hint = Path(os.path.realpath(to_path(folder))), "name the folder of your job scripts"
    if sys.stdin is not None and sys.stdin.isatty():
        text, start = "an agent starts this command", "claude mcp add jobgen -- jobgen mcp"
        raise problem("jobgen mcp", text, "usage", f"such as: {start}")
    if not path.is_dir():
        raise problem("--folder", f"{folder:.80} is no folder", "usage", hint)
    if Path(os.path.realpath(os.path.expanduser("~"))).is_relative_to(path):  # or above it
        raise problem("--folder", f"{path} has all your files", "usage", hint)
    serve(path, allow_submit)
    return 0


@main.command("agents-file")
@option("-o --output FILE", "The file, such as CLAUDE.md.", default="AGENTS.md")
@option("--check", "Write nothing; exit 1 if the file is not what would be written.")
def agents_file(output: str, check: bool) -> int:
    """Write AGENTS.md for a repository of job scripts.

    Coding agents read this file. The part that jobgen writes says how scripts are made in this
    repository: its profiles, its manifest, and which commands to run. It stands between two marks;
    all that you write above and below them is kept. Run it again, for example in a hook of git,
    when a profile or the manifest has changed.
    """
    from jobgen.agents.agents_file import new_text, old_text

    old = old_text(output)
    new = new_text(old, output)
    if new == old:
        report(f"{output} is current")
    elif check:
        report(f"{output} is {'stale' if old else 'missing'}: write it with jobgen agents-file")
    else:
        write(new, output, executable=False)
        report(f"{output} is written")
    return int(check and new != old)
