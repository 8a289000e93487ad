"""The commands `jobgen machinery`: show the parts of scripts, and the programs in them."""

import re

import click

from jobgen.cli.app import columns, command_group
from jobgen.errors import nearest_hint, problem
from jobgen.keeper.carried import keeper_text
from jobgen.scripts.parts import PARTS, Part
from jobgen.scripts.render import part_text
from jobgen.scripts.write import write

# The programs that a script carries; `lead` is one file with the text of `keeper` and its own.
_CARRIED = {
    "keeper": ("keeper", "parent of a node's ranks: it ends all of them, and passes on orders"),
    "lead": ("lead", "the keeper with a small mpiexec, which starts one on each node"),
}
# The names that `show` accepts, in the order of a script.
NAMES = tuple(dict.fromkeys([*(part.name for part in PARTS), *_CARRIED]))

machinery = command_group("machinery")


def _complete(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in NAMES if name.startswith(incomplete)]


@machinery.command("list")
def _machinery_list() -> int:
    """List all parts in the order of a script, with the features that bring each into one.

    A word such as `stage` is a feature of the script; `-stage` says that it has it not.
    """
    rows = [(part.name, _condition(part), _first_comment(part)) for part in PARTS]
    write(columns([*rows, *((name, *words) for name, words in _CARRIED.items())]))
    return 0


@machinery.command("show")
@click.argument("wanted", nargs=-1, required=True, metavar="PART...", shell_complete=_complete)
def _machinery_show(wanted: tuple[str, ...]) -> int:
    """The text of parts; `keeper` and `lead` are programs that some scripts carry."""
    for name in wanted:
        if name not in NAMES:
            hint = nearest_hint(name, NAMES)
            raise problem("jobgen machinery", f"no part `{name:.80}`", "usage", hint)
    write("\n".join(map(_text, wanted)))
    return 0


def _text(name: str) -> str:
    if name in _CARRIED:
        return keeper_text(with_lead=name == "lead")
    return next(part_text(part) for part in PARTS if part.name == name)


def _condition(part: Part) -> str:
    """The features of the scripts that have a part; `-WORD` is a feature that they do not have."""
    return " ".join((*part.having.split(), *(f"-{word}" for word in part.without.split())))


def _first_comment(part: Part) -> str:
    found = re.search(r"(?m)(?:^|\s)#\s+(.*)", part_text(part))
    return found[1] if found else ""
