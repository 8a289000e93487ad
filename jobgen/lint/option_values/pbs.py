"""The values that qsub's options take: pbs.txt, and here what no pattern can say.

There, l.walltime is the resource walltime of -l, and W.depend the attribute depend of -W.
"""

import re
from collections.abc import Mapping
from functools import cache

from jobgen.lint.option_values.grammar import Grammar, pattern, read_grammars

Grammars = Mapping[str, Grammar]
# A value in quotes may have any character in it.
_PART = r"(?:'[^']*'|\"[^\"]*\"|[^'\"{}])+"


def _parts(value: str, separators: str) -> list[str]:
    """The parts of a value between separators that are not in quotes."""
    return re.findall(_PART.replace("{}", separators), value)


_NODE = re.compile(r"(?!ppn=(?!\d+$))\w[\w.=/*-]*", re.ASCII)


def _refused_resources(value: str, grammars: Grammars) -> str:
    """The first resource of a list whose value is refused."""
    if value.endswith(","):
        return value
    for resource in _parts(value, ","):
        name, equals, amount = (text.strip() for text in resource.partition("="))
        if equals and not _is_amount(name, amount.strip("'\""), grammars):
            return resource.strip()
    return ""


def _is_amount(name: str, amount: str, grammars: Grammars) -> bool:
    if name == "select" and amount:
        return all(_is_chunk(chunk, grammars) for chunk in amount.split("+"))
    if name == "nodes" and amount:
        return all(_NODE.fullmatch(piece.strip()) for piece in re.split("[+#:]", amount))
    grammar = grammars.get(f"l.{name}")
    return not grammar or not grammar.refused(amount)


def _is_chunk(chunk: str, grammars: Grammars) -> bool:
    """COUNT, or resources of a chunk, or both, with colons between them."""
    pieces = _parts(chunk.strip(), ":")
    resources = pieces[1:] if pieces and pieces[0].isdecimal() else pieces
    pairs = [piece.partition("=") for piece in resources]
    return (
        bool(pieces)
        and ":".join(pieces) == chunk.strip()
        and all(
            re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", name)
            and amount
            and _is_amount(name, amount, grammars)
            for name, _, amount in pairs
        )
    )


_TAKES = (
    "NAME=VALUE with commas between them: walltime=HH:MM:SS, mem=4gb, ncpus=8,"
    " select=2:ncpus=8:mem=4gb, place=scatter:excl, nodes=2:ppn=8"
)


def _refused_attributes(value: str, grammars: Grammars) -> str:
    """The first attribute of -W whose value is refused."""
    # A comma ends a value only if NAME= follows it.
    for part in re.split(r",\s*(?=\w+=)", value.strip()):
        name, _, text = part.partition("=")
        name, text = name.strip(), text.strip().strip("'\"")
        grammar = grammars.get(f"W.{name}")
        if grammar and grammar.refused(text):
            return f"{name}={text}"
    return ""


def _refused_range(value: str) -> str:
    """Libcmds/range: `chk_Jrange`."""
    found = re.fullmatch(r"(\d{1,18})-(\d{1,18})(:0*[1-9]\d*)?(%\d*)?", value.strip(), re.ASCII)
    return "" if found and int(found[1]) < int(found[2]) else value or "nothing"


@cache
def grammars(is_openpbs: bool) -> dict[str, Grammar]:
    """The grammars of all options by their letters; OpenPBS has `select`, which Torque has not."""
    found = read_grammars("pbs.txt")
    if is_openpbs:
        found["m"] = pattern(found["m"].takes, r"(?-i:\s*(n|[abej]+))", is_number=False)
        # The times, which have no days here.
        time = pattern("HH:MM:SS", r"(\d+:){0,2}\d*(\.\d*)?")
        found |= {name: time for name, each in found.items() if each.takes == time.takes}
    return {
        **found,
        "J": Grammar("FIRST-LAST[:STEP][%MOST], with FIRST below LAST", _refused_range),
        "l": Grammar(_TAKES, lambda value: _refused_resources(value, found)),
        "W": Grammar(
            "NAME=VALUE: depend=afterok:JOBID with after, afterok, afternotok, afterany, before,"
            " beforeok, beforenotok or beforeany; block=true; sandbox=PRIVATE",
            lambda value: _refused_attributes(value, found),
            is_number=False,
        ),
    }
