"""Hints for commands that jobgen does not have: its own commands for the same purpose."""

import re
from collections.abc import Sequence
from difflib import get_close_matches

import click

from jobgen.cli.mistakes.other_options import readable_profile
from jobgen.cli.mistakes.usage_errors import later_problems
from jobgen.other_words.search import answers, form_words
from jobgen.planning.option_row import ALL
from jobgen.quoting import quote
from jobgen.schedulers import COMMANDS

_CLOSE = 0.7  # the ratio of difflib from which a name is taken for a misspelt command


def command_problem(ctx: click.Context, group: click.Group, words: Sequence[str]) -> str:
    """The message about an unknown command of a group, with a command to type instead."""
    name, *others = words
    others = others[others[:1] in (["launch"], ["run"]) :]  # such as `accelerate launch`
    hint = _command_hint(ctx, group, name)
    found = re.search(r"`jobgen (\w+)[^`]*`", hint)
    right = found[1] if found else ""
    if "sbatch" in hint and (profile := re.search(r"--profile[ =](\S+)", " ".join(others))):
        right = command_of(profile[1]) or right
    later: list[str] = []
    if others and ctx.parent:
        hint = re.sub("TRAINER|TEMPLATE", lambda _: quote(others[0]), hint)
    elif others and right in ALL and (command := group.get_command(ctx, right)):
        others = ["--submit"] * (" --submit " in hint) + others
        hint = f"write: jobgen {' '.join(map(quote, (right, *others)))}"
        later = later_problems(command, ctx, others)
    return "\n".join([f"No such command '{name}'; {hint}{'.' * (hint[-1:] != '?')}", *later])


def command_of(name: str) -> str:
    """The command for a profile's scheduler; "" if the profile is wrong, or names no scheduler."""
    profile = readable_profile(name)
    return COMMANDS.get(str(profile.scheduler), "") if profile else ""


def _command_hint(ctx: click.Context, group: click.Group, name: str) -> str:
    names = group.list_commands(ctx)
    close = [f"{ctx.command_path} {each}" for each in get_close_matches(name, names, 1, _CLOSE)]
    for answer in answers("commands", name):
        if not ctx.parent or f"`{ctx.command_path} " in answer:
            return answer
    if close:
        return f"did you mean `{close[0]}`?"
    if ctx.parent and "show" in names:
        return f"write {ctx.command_path} show {quote(name)}, or one of: {', '.join(names)}"
    own = "" if ctx.parent else form_words("jobgen", "word", name)
    return own or f"one of: {', '.join(names)}"
