"""What each option changes in a job: a sample job is planned with it and without it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from jobgen.cli.job_commands import OUTPUT_OPTIONS
from jobgen.generator import Generator
from jobgen.paths import bundled
from jobgen.planning.job_options import OPTIONS
from jobgen.planning.option_row import GROUPS, Option
from jobgen.planning.parser import parse_command

# The profile of the sample job for each command.
SAMPLES = {"sbatch": "dgx-a100", "qsub": "eap"}


def all_options() -> list[Option]:
    """All options of the commands that write scripts, in the order of the headings."""
    rows = [*OPTIONS.values(), *OUTPUT_OPTIONS.values()]
    return sorted(rows, key=lambda row: GROUPS.index(row.group))


def changes(row: Option, command: str) -> tuple[list[str], str]:
    """The directives that an option adds or changes, and its other effect.

    Both are empty if the command does not have the option.
    """
    if command not in row.commands:
        return [], ""
    effect, added, removed = _for_command(row.effect, command), [], []
    example = _for_command(row.example, command)
    if row not in OUTPUT_OPTIONS.values() and (example or not row.metavar):
        example = f"={example}" if row.metavar else ""
        before = _directives(command, *row.example_context)
        after = _directives(command, *row.example_context, row.flags[-1] + example)
        added = [_shortened(line, before) for line in after if line not in before]
        names = {_name(line) for line in after}
        removed = [f"no `{_name(line)}`" for line in before if _name(line) not in names]
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
