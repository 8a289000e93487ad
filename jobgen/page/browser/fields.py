"""The fields of the form, made from the rows of the options and of a profile's keys."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from jobgen import trainers
from jobgen.planning.job_options import OPTIONS
from jobgen.planning.option_row import SCRIPT
from jobgen.profiles.kinds import Choice
from jobgen.profiles.model import ROOT
from jobgen.profiles.records import ListOf, keys_of

PROFILE, PROFILE_FILE, PROFILE_TEXT = "profile", "profile_file", "profile_text"
OWN_PROFILE = "-"  # the value of PROFILE for the pasted profile in PROFILE_TEXT
PROGRAM = "program"
# Options that have no field here: the page knows no hosts, and no files except a profile.
_NOT_HERE = {PROFILE, "hosts", "template"}


class Field(NamedTuple):
    """A field of the form; `name` is an option's field in Job, or the path of a profile's key.

    `kind` is text, lines (a value in each line), switch or choice. `path` is the key of the profile
    that has the default. `value` is the text in the field of an empty form.
    """

    name: str
    label: str
    help: str
    kind: str = "text"
    path: str = ""
    commands: frozenset[str] = SCRIPT
    choices: tuple[str, ...] = ()
    value: str = ""

    @property
    def is_key(self) -> bool:
        """Whether the field sets a key of the profile by --set."""
        return self.name not in OPTIONS and self.name != PROGRAM


class Section(NamedTuple):
    """Fields under a heading; a folded section is closed until the user opens it."""

    heading: str
    fields: tuple[Field, ...]
    folded: bool


# The fields that most jobs need, under open headings; _FOLDED has the headings of all others.
_OPEN = {
    "Job": (PROGRAM, "nodes", "gpus_per_node", "time"),
    "Account and memory": ("account", "partition", "queue", "request.memory"),
    "Software": ("software.modules", "software.venv", "software.conda", "environment"),
    "Output and mail": ("name", "request.output", "mail"),
}
_KEY = ""  # stands for the fields of profile keys, which have no group
_FOLDED = {
    "Nodes, queue and logs": ("Size and time", "Cluster", "Job"),
    "Container and network": (_KEY,),
    "Launch": ("Program", "Launch"),
    "Any other option": ("Other",),
}
# The keys of a profile that have fields.
_KEYS = {
    "software.modules": "Modules",
    "software.venv": "Virtual environment",
    "software.conda": "Conda environment",
    "software.container.engine": "Container engine",
    "software.container.image": "Container image",
    "request.memory": "Memory on each node",
    "request.output": "Output file",
    "network.interface": "Interface",
    "network.port": "Port",
}


def sections() -> tuple[Section, ...]:
    """All sections with their fields."""
    options = (_option_field(name) for name in OPTIONS if name not in _NOT_HERE)
    fields = {each.name: each for each in (_PROGRAM, *options, *_key_fields())}
    found = [Section(text, tuple(map(fields.pop, names)), False) for text, names in _OPEN.items()]
    for heading, groups in _FOLDED.items():
        group = {name: OPTIONS[name].group if name in OPTIONS else _KEY for name in fields}
        rest = tuple(fields[name] for name in fields if group[name] in groups)
        found.append(Section(heading, rest, folded=True))
    return tuple(found)


def all_fields() -> Iterator[Field]:
    """The fields of all sections, without the fields that choose the profile."""
    for section in sections():
        yield from section.fields


_PROGRAM = Field(
    PROGRAM,
    "Program with its arguments",
    "A Python script (train.py), -m MODULE or a command; without it, the profile's trainer runs."
    " Quotation marks keep words together.",
    value="train.py",
)


def _option_field(name: str) -> Field:
    row = OPTIONS[name]
    kind, choices = "text", _choices(row.metavar)
    if not row.metavar:
        kind = "switch"
    elif row.repeatable:
        kind = "lines"
    elif choices:
        kind = "choice"
    label = row.label or name.replace("_", " ").capitalize()
    return Field(name, label, row.help, kind, row.path, row.commands, choices)


def _choices(metavar: str) -> tuple[str, ...]:
    if metavar == "TRAINER":
        return tuple(trainers.names())
    return tuple(metavar.split("|")) if re.fullmatch(r"[a-z0-9]+(\|[a-z0-9]+)+", metavar) else ()


def _key_fields() -> Iterator[Field]:
    rows = {key.path: key.row for key in keys_of(ROOT.cls)}
    for path, label in _KEYS.items():
        kind: Any = rows[path].kind
        choices = tuple(kind.words) if isinstance(kind, Choice) else ()
        form = "choice" if choices else "lines" if isinstance(kind, ListOf) else "text"
        yield Field(path, label, rows[path].doc, form, path, choices=choices)
