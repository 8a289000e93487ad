"""Commands that jobgen does not have, and its own for the same."""

import re
from difflib import get_close_matches

import click

from jobgen.other_words.search import answers
from jobgen.quoting import quote

_CLOSE = 0.7  # of difflib: nearer names are slips


def command_hint(ctx: click.Context, group: click.Group, name: str) -> str:
    """What to type instead of a command that a group does not have."""
    names = group.list_commands(ctx)
    close = [f"{ctx.command_path} {each}" for each in get_close_matches(name, names, 1, _CLOSE)]
    for answer in answers("commands", name) if ctx.parent else ():
        if f"`{ctx.command_path} " in answer:
            return answer
    if ctx.parent and not close and "show" in names:
        return f"write {ctx.command_path} show {quote(name)}, or one of: {', '.join(names)}"
    for answer in [] if ctx.parent else answers("commands", name):
        return answer
    if close:
        return f"did you mean `{close[0]}`?"
    is_file = not ctx.parent and re.search(r"\.(py|sh|ya?ml|sbatch|slurm|pbs)$|/", name)
    return _for_file(name) if is_file else f"one of: {', '.join(names)}"


def _for_file(name: str) -> str:
    if name.endswith((".yaml", ".yml")):
        return f"a profile: jobgen sbatch --profile {quote(name)}; a manifest: jobgen build FILE"
    if name.endswith(".py"):
        return f"a command comes first: jobgen sbatch --profile PROFILE -- {quote(name)}"
    return f"to read a script: jobgen lint {quote(name)}"


def commands_with(flag: str, ctx: click.Context) -> list[str]:
    """The commands that have an option."""
    root = ctx.find_root()
    group = root.command
    names = group.list_commands(root) if isinstance(group, click.Group) else []
    commands = {name: group.get_command(root, name) for name in names}  # type: ignore[attr-defined]
    return [
        name
        for name, command in commands.items()
        if command and any(flag in each.opts for each in command.params)
    ]
