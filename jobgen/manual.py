"""What each option becomes, planned and not written down: a sample job with it and without it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from jobgen import jobs  # noqa: F401 - its commands
from jobgen.bundled import bundled
from jobgen.cli import main
from jobgen.job import DOING, GROUPS, OPTIONS, Job, Option, layers
from jobgen.plan import plan
from jobgen.store import load

# The profile of the sample job.
SAMPLES = {"sbatch": "dgx-a100", "qsub": "eap"}


def rows() -> list[Option]:
    """All options of the commands that write scripts, in the order of the headings."""
    return sorted([*OPTIONS.values(), *DOING.values()], key=lambda row: GROUPS.index(row.group))


def becomes(row: Option, command: str) -> tuple[list[str], str]:
    """The directives that an option adds or changes, and what else it does; none if it has none."""
    if command not in row.commands:
        return [], ""
    effect, added, gone = _of(row.effect, command), [], []
    if row not in DOING.values() and (row.example or not row.metavar):
        example = f"={_of(row.example, command)}" if row.metavar else ""
        before = _directives(command, *row.beside)
        after = _directives(command, *row.beside, row.flags[-1] + example)
        added = [_brief(line, before) for line in after if line not in before]
        names = {_name(line) for line in after}
        gone = [f"no `{_name(line)}`" for line in before if _name(line) not in names]
    return added, ", ".join([*gone, *filter(None, [effect])])


def _of(text: str | Mapping[str, str], command: str) -> str:
    return text if isinstance(text, str) else text.get(command, "")


def _directives(command: str, *words: str) -> list[str]:
    profile = bundled("profiles") / f"{SAMPLES[command]}.yaml"
    line = ["--profile", str(profile), "-J", "train", *words]
    given = main.commands[command].make_context(command, line).params
    job = Job(command, **{field: value for field, value in given.items() if field not in DOING})
    planned = plan(job, load(str(profile), layers(job)))
    return [line.partition(" ")[2] for line in planned.directives]  # without #SBATCH


def _name(directive: str) -> str:
    found = re.match(r"--?[\w-]+(?: \w+(?==))?", directive)
    return found[0] if found else directive


def _brief(directive: str, before: Iterable[str]) -> str:
    """A directive in which `…` is for the resources of a chunk that stay as they are."""
    old = {part for line in before for part in line.split(":")}
    first, *rest = directive.split(":")
    parts = ["…" if "=" in part and part in old else part for part in rest]
    return re.sub(r"…(:…)+", "…", ":".join([first, *parts]))


def said(lines: list[str], effect: str) -> str:
    """What `becomes` has found, in Markdown."""
    return ", ".join([*(f"`{line}`" for line in lines), *filter(None, [effect])])


def table() -> str:
    """The options as a table in Markdown: what they are, and what they become."""
    lines = ["| Option | | On Slurm | On PBS |", "| --- | --- | --- | --- |"]
    for group in GROUPS:
        lines.append(f"| **{group}** | | | |")
        lines += [_line(row) for row in rows() if row.group == group]
    return "\n".join(lines) + "\n"


def _line(row: Option) -> str:
    *short, last = row.flags
    option = ", ".join(f"`{flag}`" for flag in (*short, f"{last} {row.metavar}".rstrip()))
    only = "" if row.commands & {*SAMPLES} else f" Only for `{'`, `'.join(sorted(row.commands))}`."
    cells = [option, row.help + only, *(said(*becomes(row, command)) for command in SAMPLES)]
    return "".join(f"| {_cell(text)}".rstrip() + " " for text in cells) + "|"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")  # in code, too: GitHub's tables are cut up first
