"""What each option changes in a job: a sample job is planned with it and without it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from jobgen.cli.commands.job_commands import OUTPUT_OPTIONS
from jobgen.generator import Generator
from jobgen.paths import bundled
from jobgen.planning.job_options import OPTIONS
from jobgen.planning.option_row import GROUPS, Option
from jobgen.planning.parser import parse_command

# The profile of the sample job for each command.
SAMPLES = {"sbatch": "dgx-a100", "qsub": "eap"}
# What an option changes that the sample job's directives do not show; it may differ by command.
_EFFECTS: dict[str, str | dict[str, str]] = {
    **dict.fromkeys(("--profile", "--template"), "the whole script"),
    **dict.fromkeys(("--log-dir", "--trainer", "--stall", "--code"), "in the script"),
    **dict.fromkeys(("--rendezvous", "--max-restarts"), "in the script"),
    "--nodes": {"qsub": "one number only"},
    "--env": "exported",
    "--launcher": {"qsub": "with mpiexec, `mpiprocs` is the number of ranks"},
    "--requeue": {"sbatch": "`scontrol requeue` at the walltime"},
    "--signal": {"qsub": "the script measures the time"},
    "--plain": "launch alone",
    "--submit": {"sbatch": "`sbatch`", "qsub": "`qsub`"},
    "--wait": {"sbatch": "`scontrol show job`", "qsub": "`qstat -f`, `qsub -W block=true`"},
}
# The words with which a sample job shows what an option changes.
_CONTEXTS = {
    "--shared": ("--set=request.exclusive=true",),
    "--mail-on": ("--mail=me@example.org",),
}


def all_options() -> list[Option]:
    """All options of the commands that write scripts, in the order of the headings."""
    rows = [*OPTIONS.values(), *OUTPUT_OPTIONS.values()]
    return sorted(rows, key=lambda row: GROUPS.index(row.group))


def changes(row: Option, command: str, *context: str) -> tuple[list[str], str]:
    """The directives that an option adds or changes to a job with `context`, and its other effect.

    Both are empty if the command does not have the option.
    """
    if command not in row.commands:
        return [], ""
    flag, added, removed = row.flags[-1], list[str](), list[str]()
    example = _for_command(row.example, command)
    if row not in OUTPUT_OPTIONS.values() and (example or not row.metavar):
        example = f"={example}" if row.metavar else ""
        context = context or _CONTEXTS.get(flag, ())
        before = _directives(command, *context)
        after = _directives(command, *context, flag + example)
        added = [_shortened(line, before) for line in after if line not in before]
        names = {_name(line) for line in after}
        removed = [f"no `{_name(line)}`" for line in before if _name(line) not in names]
    effect = _for_command(_EFFECTS.get(flag, ""), command)
    return added, ", ".join([*removed, *filter(None, [effect])])


def _for_command(text: str | Mapping[str, str], command: str) -> str:
    return text if isinstance(text, str) else text.get(command, "")


def _directives(command: str, *words: str) -> list[str]:
    profile = bundled("profiles") / f"{SAMPLES[command]}.yaml"
    job = parse_command([command, "--profile", str(profile), "-J", "train", *words])
    plan = Generator().plan(job)
    return [line.partition(" ")[2] for line in plan.directives]  # without #SBATCH


def _name(directive: str) -> str:
    found = re.match(r"--?[\w-]+(?: \w+(?==))?", directive)
    return found[0] if found else directive


def _shortened(directive: str, before: Iterable[str]) -> str:
    """A directive with `…` in the place of the chunk's resources that stay the same."""
    old = {part for line in before for part in line.split(":")}
    first, *rest = directive.split(":")
    parts = ["…" if "=" in part and part in old else part for part in rest]
    return re.sub(r"…(:…)+", "…", ":".join([first, *parts]))


def as_markdown(lines: list[str], effect: str) -> str:
    """The result of `changes`, in Markdown."""
    return ", ".join([*(f"`{line}`" for line in lines), *filter(None, [effect])])


def table() -> str:
    """The options as a table in Markdown: what they are, and what they change."""
    lines = ["| Option | | On Slurm | On PBS |", "| --- | --- | --- | --- |"]
    for group in GROUPS:
        lines.append(f"| **{group}** | | | |")
        lines += [_line(row) for row in all_options() if row.group == group]
    return "\n".join(lines) + "\n"


def _line(row: Option) -> str:
    *short, last = row.flags
    option = ", ".join(f"`{flag}`" for flag in (*short, f"{last} {row.metavar}".rstrip()))
    only = "" if row.commands & {*SAMPLES} else f" Only for `{'`, `'.join(sorted(row.commands))}`."
    effects = (as_markdown(*changes(row, command)) for command in SAMPLES)
    cells = [option, row.help + only, *effects]
    return "".join(f"| {_cell(text)}".rstrip() + " " for text in cells) + "|"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")  # also in code: GitHub splits tables first
