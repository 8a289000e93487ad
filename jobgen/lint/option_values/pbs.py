"""The values that qsub's options take: pbs.txt, and here what no pattern can say."""

import re
from functools import cache

from jobgen.lint.option_values.grammar import Grammar, pattern, read_grammars

# A value in quotes may have any character in it.
_PART = r"(?:'[^']*'|\"[^\"]*\"|[^'\"{}])+"


def _parts(value: str, separators: str) -> list[str]:
    """The parts of a value between separators that are not in quotes."""
    return re.findall(_PART.replace("{}", separators), value)


# ---- resources of -l: src/lib/Libattr/attr_fn_time.c, attr_fn_size.c, attr_fn_str.c ----

_TIME = re.compile(r"(\d+:){0,2}\d*(\.\d*)?", re.ASCII)
_TORQUE_TIME = re.compile(r"(\d*:){0,3}\d*(\..*)?", re.ASCII)  # three colons: with days
_SIZE = re.compile(r"\d+([kmgtpe]?[bw]?)", re.IGNORECASE | re.ASCII)
_WHOLE_NUMBER = re.compile(r"\+?\d+", re.ASCII)
_PLACEMENT = r"(free|pack|scatter|vscatter|excl|exclhost|shared|group=[\w-]+)"
_PLACE = re.compile(rf"{_PLACEMENT}(:{_PLACEMENT})*", re.IGNORECASE | re.ASCII)
_NODE = re.compile(r"(?!ppn=(?!\d+$))\w[\w.=/*-]*", re.ASCII)
_DURATIONS = ("walltime", "cput", "pcput", "soft_walltime", "min_walltime", "max_walltime")
_KINDS = {
    **dict.fromkeys(("mem", "vmem", "pmem", "pvmem", "file"), _SIZE),
    **dict.fromkeys(("ncpus", "nodect", "mpiprocs", "ompthreads"), _WHOLE_NUMBER),
    "place": _PLACE,
}


def _refused_resources(value: str, time: re.Pattern[str]) -> str:
    """The first resource of a list whose value is refused."""
    if value.endswith(","):
        return value
    for resource in _parts(value, ","):
        name, equals, amount = (text.strip() for text in resource.partition("="))
        if equals and not _is_amount(name, amount.strip("'\""), time):
            return resource.strip()
    return ""


def _is_amount(name: str, amount: str, time: re.Pattern[str]) -> bool:
    if not amount:  # as if the resource were not there, where it is no whole number
        return _KINDS.get(name) is not _WHOLE_NUMBER
    if name == "select":
        return all(_is_chunk(chunk, time) for chunk in amount.split("+"))
    if name == "nodes":
        pieces = re.split("[+#:]", amount)
        return all(_NODE.fullmatch(piece.strip()) for piece in pieces)
    kind = time if name in _DURATIONS else _KINDS.get(name)
    return not kind or bool(kind.fullmatch(amount))


def _is_chunk(chunk: str, time: re.Pattern[str]) -> bool:
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
            and _is_amount(name, amount, time)
            for name, _, amount in pairs
        )
    )


_TAKES = (
    "NAME=VALUE with commas between them: walltime=HH:MM:SS, mem=4gb, ncpus=8,"
    " select=2:ncpus=8:mem=4gb, place=scatter:excl, nodes=2:ppn=8"
)

# ---- -W: src/lib/Libcmds/parse_depend.c ----

_CONDITION = r"(after|before)(any|ok|notok|start)?(array)?|on|synccount|syncwith|runone"
_DEPENDENCY = rf"\s*({_CONDITION})(:[^:,]+)+"
_ATTRIBUTES = {
    "depend": f"{_DEPENDENCY}(,{_DEPENDENCY})*",
    "block": "(?i:true|false)",
    "sandbox": "(?i:home|o_workdir|private)",
}


def _refused_attributes(value: str) -> str:
    """The first attribute whose value is refused."""
    # A comma ends a value only if NAME= follows it.
    for part in re.split(r",\s*(?=\w+=)", value.strip()):
        name, _, text = part.partition("=")
        name, text = name.strip(), text.strip().strip("'\"")
        if name in _ATTRIBUTES and not re.fullmatch(_ATTRIBUTES[name], text):
            return f"{name}={text}"
    return ""


def _refused_range(value: str) -> str:
    """Libcmds/range: `chk_Jrange`."""
    found = re.fullmatch(r"(\d{1,18})-(\d{1,18})(:0*[1-9]\d*)?(%\d*)?", value.strip(), re.ASCII)
    return "" if found and int(found[1]) < int(found[2]) else value or "nothing"


@cache
def grammars(is_openpbs: bool) -> dict[str, Grammar]:
    """The grammars of all options by their letters; OpenPBS has `select`, which Torque has not."""
    time = _TIME if is_openpbs else _TORQUE_TIME
    found = {
        **read_grammars("pbs.txt"),
        "J": Grammar("FIRST-LAST[:STEP][%MOST], with FIRST below LAST", _refused_range),
        "l": Grammar(_TAKES, lambda value: _refused_resources(value, time)),
        "W": Grammar(
            "NAME=VALUE: depend=afterok:JOBID with after, afterok, afternotok, afterany, before,"
            " beforeok, beforenotok or beforeany; block=true; sandbox=PRIVATE",
            _refused_attributes,
            is_number=False,
        ),
    }
    if is_openpbs:
        found["m"] = pattern(found["m"].takes, r"(?-i:\s*(n|[abej]+))", is_number=False)
    return found
