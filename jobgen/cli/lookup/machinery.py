"""The parts of the machinery, and the programs that a script carries for the nodes."""

import re

from jobgen.cli.lookup.text import columns
from jobgen.errors import nearest_hint, problem
from jobgen.keeper.carried import keeper_text
from jobgen.scripts.parts import PARTS, Part
from jobgen.scripts.render import part_text
from jobgen.scripts.write import write

# What a script carries; `lead` has the keeper's text, too, as one file of the script.
_CARRIED = {
    "keeper": ("keeper", "parent of a node's ranks: it ends all of them, and passes on orders"),
    "lead": ("lead", "the keeper with a small mpiexec, which starts one on each node"),
}


def names() -> tuple[str, ...]:
    """All that can be shown, in the order of a script."""
    return (*dict.fromkeys(part.name for part in PARTS), *_CARRIED)


def list_machinery() -> int:
    """Write the table of parts: the name, which scripts have it, and what its first comment says.

    A part for two kinds of scripts has two rows.
    """
    rows = [(part.name, _condition(part), _first_comment(part)) for part in PARTS]
    write(columns([*rows, *((name, *words) for name, words in _CARRIED.items())]))
    return 0


def show_machinery(wanted: tuple[str, ...]) -> int:
    """Write the text of parts. Raises JobgenError."""
    parts = names()
    for name in wanted:
        if name not in parts:
            hint = nearest_hint(name, parts)
            raise problem("jobgen machinery", f"no part `{name:.80}`", "usage", hint)
    write("\n".join(map(_text, wanted)))
    return 0


def _text(name: str) -> str:
    if name in _CARRIED:
        return keeper_text(with_lead=name == "lead")
    return next(part_text(part) for part in PARTS if part.name == name)


def _condition(part: Part) -> str:
    """The features of the scripts that have a part; `-WORD` is one that they do not have."""
    return " ".join((*part.having.split(), *(f"-{word}" for word in part.without.split())))


def _first_comment(part: Part) -> str:
    found = re.search(r"(?m)(?:^|\s)#\s+(.*)", part_text(part))
    return found[1] if found else ""
