"""The tables of docs/ that are made from the package: options, keys, bounds, the plan."""

from __future__ import annotations

import inspect
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import jobgen
from jobgen.generator import find_profiles
from jobgen.page.site import choice_of
from jobgen.planning.job_options import OPTIONS
from jobgen.planning.plan import Plan
from jobgen.profiles.model import ROOT, Profile
from jobgen.profiles.records import keys_of
from jobgen.sources.check import sources_of
from tests.site_build import hook
from tests.site_facts import SITES
from tests.test_bounds import VALUES, bounds


def key_table() -> str:
    """Every key of a profile, with its kind, its default and its meaning."""
    lines = ["| Key | Value | Default | |", "| --- | --- | --- | --- |"]
    for path, row, default in keys_of(ROOT.cls):
        cells = (f"`{path}`", row.kind.in_words(), default and f"`{default}`", row.doc)
        lines.append("".join(f"| {_escaped(cell)}".rstrip() + " " for cell in cells) + "|")
    return "\n".join(lines) + "\n"


def _escaped(cell: str) -> str:
    return cell.replace("|", r"\|")  # also in code: GitHub splits tables first


def limit_table() -> str:
    """Every bound: its value, what it bounds, and who could do harm without it."""
    lines = ["| Bound | | Without it |", "| --- | --- | --- |"]
    for name, texts in bounds().items():
        cells = (f"{VALUES[name]:,}", *texts)
        lines.append("".join(f"| {_escaped(cell)} " for cell in cells) + "|")
    return "\n".join(lines) + "\n"


def plan_table() -> str:
    """Every value of a plan, which templates see, by the part that it is in."""
    lines = ["| Part | What it is | Its values |", "| --- | --- | --- |"]
    for path, cls in _parts("plan", Plan):
        lines.append(f"| `{path}` | {_first_line(cls)} | {_value_list(cls)} |")
        members = {n: each for kind in cls.__mro__[::-1] for n, each in vars(kind).items()}
        for name, found in members.items():
            if isinstance(found, property):
                kind = _value_kind(get_type_hints(found.fget)["return"])
                lines.append(f"| `{path}.{name}` | {_first_line(found)} | {kind} |")
    return "\n".join(lines) + "\n"


def _parts(path: str, cls: type) -> Iterator[tuple[str, type]]:
    """The path of each record in a plan; [] stands for each item of a list."""
    yield path, cls
    for name, hint in _value_hints(cls).items():
        for each in (hint, *get_args(hint)):
            if _is_record(each):
                items = "[]" if _value_kind(hint).startswith("list") else ""
                yield from _parts(f"{path}.{name}{items}", each)


def _value_hints(cls: type) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {name: hints[name] for name in cls._fields}


def _is_record(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "_fields")


def _value_list(cls: type) -> str:
    by_kind: dict[str, list[str]] = {}
    for name, hint in _value_hints(cls).items():
        if not _is_record(hint):
            by_kind.setdefault(_value_kind(hint), []).append(f"`{name}`")
    return "; ".join(f"{kind}: {', '.join(names)}" for kind, names in by_kind.items())


def _value_kind(hint: Any) -> str:
    if NoneType in get_args(hint):
        (other,) = (each for each in get_args(hint) if each is not NoneType)
        return f"{_value_kind(other)} or none"
    words = {str: "text", int: "number", bool: "true or false"}
    return words.get(hint) or ("part" if _is_record(hint) else "list")


def _first_line(documented: object) -> str:
    return (inspect.getdoc(documented) or "").partition("\n\n")[0].replace("\n", " ")


def site_table() -> str:
    """Every bundled public site and machine type: what it is, and what is known of its profile."""
    given = {site.name: _given(site.options) for site in SITES}
    heads = ("Profile", *_MACHINE, "Ranks", "You give", "State", "Read")
    rows = []
    for name, profile in _sites():
        documents = sources_of(find_profiles().tree_of(name)).documents.values()
        read = min((each.read or "" for each in documents), default="")
        options = ", ".join(f"`{each}`" for each in given.get(name, [])) or "nothing"
        cells = (_starts(profile), options, _state(profile), read)
        rows.append((f"`{name}`", *_machine_cells(name, profile), *cells))
    return _lines(heads, rows)


def machine_table() -> str:
    """The same in short, for the start page."""
    rows = [
        (f"`{name}`", *_machine_cells(name, profile), _state(profile)) for name, profile in _sites()
    ]
    return _lines(("Profile", *_MACHINE, "State"), rows)


_MACHINE = ("Machine", "GPUs of a node", "Fabric", "Scheduler")


def _lines(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def _sites() -> list[tuple[str, Profile]]:
    """The bundled sites and machine types, sites first."""
    loader = find_profiles()
    names = [name for name in loader.files() if name.startswith(("sites/", "machines/"))]
    order = sorted(names, key=lambda name: (name.startswith("machines/"), name))
    return [(name, loader.load(name).profile) for name in order]


def _machine_cells(name: str, profile: Profile) -> tuple[str, str, str, str]:
    """The machine, the GPUs of a node, the fabric and the scheduler."""
    choice = choice_of(name, profile)
    gpus = re.split(r" a node|, ", choice.description)[0]
    words = profile.description.split(", ")
    named = next((each for each in words if each.lower().split()[0] in FABRICS), "")
    base = next((each.partition("/")[2] for each in _bases(name) if "fabrics/" in each), "")
    return choice.title, gpus, named or FABRICS.get(base, ""), str(profile.scheduler)


FABRICS = {
    "efa": "EFA",
    "ethernet": "Ethernet",
    "infiniband": "InfiniBand",
    "slingshot": "Slingshot",
    "gib": "gIB",
    "tcpx": "TCPX",
    "tcpxo": "TCPXO",
    "roce": "RoCE",
}


def _state(profile: Profile) -> str:
    state = profile.state or ""
    if profile.ends:
        state += f", ends {profile.ends}" + f", see `{profile.successor}`" * bool(profile.successor)
    return state


def _bases(name: str) -> tuple[str, ...]:
    """The bases of a profile, and theirs."""
    bases = find_profiles().load(name).profile.extends
    return (*bases, *(other for base in bases for other in _bases(base)))


def _given(options: list[str]) -> list[str]:
    """What a user of a site has to give: options, each with its value, and the keys of --set."""
    pairs = zip(options[::2], options[1::2], strict=True)
    return [value.partition("=")[0] if name == "--set" else name for name, value in pairs]


def _starts(profile: Profile) -> str:
    """What starts a profile's ranks, and in which engine."""
    engine = profile.software.container and profile.software.container.engine
    return f"{profile.launch.launcher}, {engine}" if engine else profile.launch.launcher


_PYTHON_TYPES = {
    "Words": "`str`, or a list of them",
    "PathName": "`str` or a path",
    "Values": "a mapping, or a list of `str`",
}


def argument_table() -> str:
    """Every argument of the API that is an option of the command line."""
    lines = ["| Argument | Type | Option |", "| --- | --- | --- |"]
    parameters = inspect.signature(jobgen.script).parameters
    for name, row in OPTIONS.items():
        if name in parameters and name != "profile":
            kind = str(parameters[name].annotation).removesuffix(" | None")
            cells = (f"`{name}`", _PYTHON_TYPES.get(kind, f"`{kind}`"), f"`{row.flags[-1]}`")
            lines.append("".join(f"| {_escaped(cell)} " for cell in cells) + "|")
    return "\n".join(lines) + "\n"


def judged_table() -> str:
    """How many verdicts of `jobgen why` an independent reader found right, by how sure they are."""
    text = (Path(__file__).parent / "diagnosis" / "judged_threads.tsv").read_text("utf-8")
    rows = [line.split("\t") for line in text.splitlines()[1:]]
    counts = Counter((sample, sure, judged) for sample, _, _, sure, judged in rows)
    counts += Counter((sample, "all", judged) for sample, *_, judged in rows)
    found = ("right", "partly", "nothing", "wrong")
    lines = [f"| Sample | Verdict | Threads | {' | '.join(found)} |", "| --- " * 7 + "|"]
    newest = rows[-1][0]  # of the code as it is; the others are of older code
    for sample in dict.fromkeys(row[0] for row in rows):
        for sure in ("all", "sure", "likely", "possible", "none") if sample == newest else ("all",):
            numbers = [counts[sample, sure, each] for each in found]
            cells = (sample, sure, sum(numbers), *numbers)
            lines.append("".join(f"| {cell} " for cell in cells) + "|")
    return "\n".join(lines) + "\n"


TABLES: dict[str, Callable[[], str]] = {
    "judged": judged_table,
    "api_arguments": argument_table,
    "options": hook("option_effects").table,
    "keys": key_table,
    "limits": limit_table,
    "plan": plan_table,
    "sites": site_table,
    "machines": machine_table,
}
