"""The fields of the form, made from the rows of the options and of a profile's keys."""

from __future__ import annotations

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
OWN_PROFILE = "-"  # the value of PROFILE for the one that is in PROFILE_TEXT
PROGRAM = "program"
# Without these: the page has no hosts and no files beside a profile.
_NOT_HERE = {PROFILE, "hosts", "template"}


class Field(NamedTuple):
    """A field of the form; `name` is an option's field in Job, or the path of a profile's key.

    `kind` is text, lines (one value a line), list (the same, for a key that is a list), switch or
    choice. `path` is the key whose value of the profile is the default.
    """

    name: str
    label: str
    help: str
    kind: str = "text"
    path: str = ""
    commands: frozenset[str] = SCRIPT
    choices: tuple[str, ...] = ()

    @property
    def is_key(self) -> bool:
        """Whether the field becomes a --set."""
        return self.name not in OPTIONS and self.name != PROGRAM


class Section(NamedTuple):
    """Fields under a heading; a folded one is shown on demand."""

    heading: str
    fields: tuple[Field, ...]
    folded: bool


_LABELS = {
    "nodes": "Nodes",
    "gpus_per_node": "GPUs on each node",
    "time": "Time",
    "name": "Name of the job",
    "qos": "Quality of service",
    "trainer": "Or a packaged trainer",
    "environment": "Environment variables, one a line",
    "software.modules": "Modules, one a line",
    "software.venv": "Virtual environment",
    "software.conda": "Conda environment",
    "software.container.engine": "Container engine",
    "software.container.image": "Container image",
    "request.output": "Output file",
    "request.memory": "Memory on each node",
    "network.interface": "Interface, one a line",
    "network.port": "Port",
    "log_folder": "Folder for what each rank writes",
    "launcher": "Launcher",
    "after": "Start after other jobs, one a line",
    "mail_on": "Send mail when",
    "stall": "End a job that hangs, after minutes",
    "requeue": "Requeue",
    "signal": "Signal before the walltime, seconds",
    "plain": "Plain script",
    "set_values": "Values of the profile, one a line",
    "directives": "Directives, one a line",
}
_OPEN = {
    "Size and time": ("nodes", "gpus_per_node", "time"),
    "Program": (PROGRAM, "trainer"),
    "Job": ("name", "account", "partition", "queue"),
}
_FOLDED = {
    "Software and environment": (
        *("environment", "software.modules", "software.venv", "software.conda"),
        *("software.container.engine", "software.container.image"),
    ),
    "Restarts, hangs and launch": (
        *("max_restarts", "requeue", "stall", "signal", "launcher", "rendezvous"),
        "plain",
    ),
    "Nodes and network": (
        *("request.memory", "qos", "reservation", "constraint", "exclusive", "shared"),
        *("network.interface", "network.port"),
    ),
    "Output, mail and many jobs": (
        *("request.output", "log_folder", "mail", "mail_on", "array", "after"),
    ),
}
_OTHER = "Any other option"


def sections() -> tuple[Section, ...]:
    """All fields under their headings; an option that no heading names is under the last one."""
    named = {name for names in (*_OPEN.values(), *_FOLDED.values()) for name in names}
    other = tuple(name for name in OPTIONS if name not in named | _NOT_HERE)
    keys = dict(_key_fields({name for name in named if name not in OPTIONS}))
    made = {**{name: _option_field(name) for name in OPTIONS}, **keys, PROGRAM: _PROGRAM}
    return tuple(
        Section(heading, tuple(made[name] for name in names), heading not in _OPEN)
        for heading, names in {**_OPEN, **_FOLDED, _OTHER: other}.items()
    )


def all_fields() -> Iterator[Field]:
    """The fields of all sections; those that choose the profile are not among them."""
    for section in sections():
        yield from section.fields


_PROGRAM = Field(
    PROGRAM,
    "Program with its arguments",
    "A Python script (train.py), -m MODULE or a command; without it, the profile's trainer runs."
    " Quotation marks keep words together.",
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
    label = _LABELS.get(name) or name.replace("_", " ").capitalize()
    return Field(name, label, row.help, kind, row.path, row.commands, choices)


def _choices(metavar: str) -> tuple[str, ...]:
    if metavar == "TRAINER":
        return tuple(trainers.names())
    return tuple(metavar.split("|")) if re.fullmatch(r"[a-z0-9]+(\|[a-z0-9]+)+", metavar) else ()


def _key_fields(paths: set[str]) -> Iterator[tuple[str, Field]]:
    for key in keys_of(ROOT.cls):
        if key.path in paths:
            kind: Any = key.row.kind
            choices = tuple(kind.words) if isinstance(kind, Choice) else ()
            form = "choice" if choices else "list" if isinstance(kind, ListOf) else "text"
            label = _LABELS.get(key.path) or key.path
            yield key.path, Field(key.path, label, key.row.doc, form, key.path, choices=choices)
