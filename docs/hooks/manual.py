"""The man page jobgen(1), made from the commands and the rows of the options."""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Iterator, Sequence

import click
from option_effects import SAMPLES, all_options, as_markdown, changes

import jobgen.cli.commands.doctor_command
import jobgen.cli.commands.guard_command
import jobgen.cli.commands.lint_command
import jobgen.cli.commands.machinery_commands
import jobgen.cli.commands.profile_commands
import jobgen.cli.commands.runs_command
import jobgen.cli.commands.store_command
import jobgen.cli.commands.tool_commands
import jobgen.cli.commands.why_command  # noqa: F401 - they add their commands
from jobgen import __version__
from jobgen.cli.app import COMMANDS, RowOption, main
from jobgen.planning.option_row import GROUPS, Option

DESCRIPTION = """
jobgen makes a script from a profile, which describes a cluster, a template, and its options. The
script starts a PyTorch program on every node: it finds the address of rank 0 on the right network,
sets what NCCL or RCCL need there, checks every node first, and runs torchrun on each. The same
command always gives the same script.

PROGRAM is a Python script (*.py), -m MODULE, or any other command; its arguments arrive unchanged.
Without one, the profile's trainer runs.
"""
OPTIONS = """
If an option changes what is requested from the scheduler, the directives are shown that it adds or
changes, with a sample value.
"""
STATUS = {
    "0": "Success.",
    "1": "A check found something: a wrong profile, a script that is not current, a finding of"
    " lint, no answer to detect, or no cause that why can tell.",
    "2": "Wrong usage or input; the message names the file, line and column, or the option.",
    "130": "Interrupted.",
    "141": "The reader of stdout has ended.",
}
ENVIRONMENT = {
    "JOBGEN_PROFILE": "The default of `--profile`, except for `local`; the command in the script"
    " names the profile.",
    "JOBGEN_PROFILES": "More folders of profiles, separated by `:`.",
    "XDG_CONFIG_HOME": "The folder to use instead of `~/.config` below.",
}
FILES = {
    "./profiles/NAME.yaml": "A profile of the project. The first one of a name counts: here, in the"
    " folders of `JOBGEN_PROFILES`, in the user's folder, in the registry, then the bundled ones. A"
    " name that ends in `.yaml` is a path.",
    "~/.config/jobgen/profiles/NAME.yaml": "A profile of the user.",
    "~/.config/jobgen/registry": "The release of the registry of profiles that was taken.",
    "pyproject.toml": "Its table `[tool.jobgen.lint]` may have `select`, `ignore`, `also` and"
    " `profile`; the nearest one at or above a script counts.",
    "./templates/NAME.sh.j2": "A template of the project; it replaces those of that name in the"
    " user's folder and among the bundled ones.",
    "~/.config/jobgen/templates/NAME.sh.j2": "A template of the user.",
}
EXAMPLES = {
    "Check that all nodes work, with the profile's trainer:": "jobgen sbatch --profile mi210 -N 3"
    " | sbatch",
    "A program that is requeued when the walltime ends it:": "jobgen sbatch"
    " --profile mi210 -N 4 -t 12:00:00 --requeue -- train.py --lr 0.1 | sbatch",
    "A script in a file:": "jobgen qsub --profile eap -N 2 -o job.sh -- train.py",
    "From a computer that is not part of the cluster:": "jobgen sbatch --profile mycluster.yaml"
    " -- train.py | ssh cluster sbatch",
}


def page() -> str:
    """The page, as roff with the macros of man(7)."""
    name = _roff((main.help or "").split(".")[0].lstrip())
    return "\n".join(
        [
            f'.TH JOBGEN 1 "" "jobgen {__version__}" "User Commands"',
            *(".SH NAME", rf"jobgen \- {name[0].lower()}{name[1:]}"),
            *(
                ".SH SYNOPSIS",
                r"\fBjobgen\fR \fICOMMAND\fR [\fIOPTIONS\fR] [\-\- \fIPROGRAM ARGS\fR...]",
            ),
            *(".SH DESCRIPTION", *_text(DESCRIPTION, ".PP")),
            *(".SH COMMANDS", *_commands()),
            *(".SH OPTIONS", *_text(OPTIONS, ".PP"), *_options()),
            *(".SH EXIT STATUS", *_entries(STATUS)),
            *(".SH ENVIRONMENT", *_entries(ENVIRONMENT)),
            *(".SH FILES", *_entries(FILES)),
            *(".SH EXAMPLES", *_examples()),
            *(".SH SEE ALSO", ".BR sbatch (1),", ".BR salloc (1),", ".BR qsub (1B)", ""),
        ]
    )


def _commands() -> Iterator[str]:
    for heading, names in COMMANDS.items():
        yield f".SS {heading}"
        for name in names:
            yield from _command(main.commands[name], f"jobgen {name}")


def _command(command: click.Command, name: str) -> Iterator[str]:
    """A command, or the commands of a group."""
    for word, each in sorted(getattr(command, "commands", {}).items()):
        yield from _command(each, f"{name} {word}")
    if isinstance(command, click.Group):
        return
    context = click.Context(command)
    help_option = command.get_help_option(context)
    parameters = (each for each in command.get_params(context) if each is not help_option)
    options = [each for each in parameters if isinstance(each, click.Option)]
    pieces = command.collect_usage_pieces(context)[0 if options else 1 :]
    yield from (".TP", rf"\fB{_roff(name)}\fR {_roff(' '.join(pieces))}".rstrip())
    yield from _text(command.help or "", ".IP")
    for option in options:
        if not isinstance(option, RowOption):  # these have a section of their own
            yield from (".RS", *_entry(option.opts, option.metavar, option.help or ""), ".RE")


def _options() -> Iterator[str]:
    for group in GROUPS:
        yield f".SS {group}"
        for row in all_options():
            if row.group == group:
                yield from _entry(row.flags, row.metavar, row.help)
                yield from (".br", *_filled(_effects(row)))


def _effects(row: Option) -> str:
    """What an option changes, and which commands have it."""
    slurm, pbs = (as_markdown(*changes(row, command)) for command in SAMPLES)
    effects = [("Slurm", slurm), ("PBS", pbs)] if slurm != pbs else [("Slurm and PBS", slurm)]
    commands = [name for names in COMMANDS.values() for name in names if name in row.commands]
    sentences = [f"On {scheduler}: {text}." for scheduler, text in effects if text]
    return " ".join([*sentences, f"For {', '.join(commands)}."])


def _entries(entries: dict[str, str]) -> Iterator[str]:
    for name, text in entries.items():
        yield from _entry([name], "", text)


def _entry(names: Sequence[str], value: str | None, text: str) -> Iterator[str]:
    words = ", ".join(rf"\fB{_roff(name)}\fR" for name in names)
    yield from (".TP", rf"{words} \fI{_roff(value)}\fR" if value else words)
    yield from _filled(text)


def _examples() -> Iterator[str]:
    for number, (text, command) in enumerate(EXAMPLES.items()):
        yield from [".PP"] * (number > 0)
        yield from (*_filled(text), ".PP", ".nf", *_lines(f"    {command}"), ".fi")


def _text(text: str, paragraph: str) -> Iterator[str]:
    r"""Paragraphs; as in click, one that begins with \b, or is indented, is not filled."""
    for number, block in enumerate(inspect.cleandoc(text).split("\n\n")):
        yield from [paragraph] * (number > 0)
        if block.startswith(("\b", " ")):
            yield from (".nf", *_lines(block.removeprefix("\b\n")), ".fi")
        else:
            yield from _filled(block)


def _filled(text: str) -> list[str]:
    """Text in lines of 80 columns; words in backticks are bold."""
    parts = _roff(text).split(_SPECIAL["`"])
    parts[1::2] = [rf"\fB{part}\fR".replace(" ", r"\~") for part in parts[1::2]]  # on one line
    wrap = textwrap.wrap("".join(parts), 80, break_long_words=False, break_on_hyphens=False)
    return [_guarded(line) for line in wrap]


def _lines(text: str) -> list[str]:
    return [_guarded(_roff(line)) for line in text.split("\n")]


def _guarded(line: str) -> str:
    return rf"\&{line}" if line.startswith(".") else line  # else it would be a macro


# A plain - becomes a hyphen and a ' a quotation mark, which cannot be pasted into a shell.
_SPECIAL = {"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"}


def _roff(text: str) -> str:
    """`text` with the escapes of roff."""
    plain = (_SPECIAL.get(letter, letter) for letter in text)
    return "".join(part if part.isascii() else rf"\[u{ord(part):04X}]" for part in plain)
