"""Finds the field of the form that a line of jobgen's messages belongs to."""

from __future__ import annotations

import re
from typing import NamedTuple

from jobgen.page.browser.command import Form
from jobgen.page.browser.fields import (
    OWN_PROFILE,
    PROFILE,
    PROFILE_FILE,
    PROFILE_TEXT,
    PROGRAM,
    all_fields,
)
from jobgen.planning.job_options import OPTIONS

_PREFIX = "jobgen: "
_WARNING = "warning: "
# Only the page has these places: they are not shown.
_OWN_PLACE = re.compile(f"^({PROFILE_FILE}|{PROFILE_TEXT}): ")
_OPTION = re.compile(r"(--set [\w.]+|-[-\w]*): ")
_FILE = re.compile(r"\S.*?\.ya?ml(:\d+:\d+)?: ")
# The page has none of the user's files, so it cannot tell whether this one is missing.
_MISSING_PROGRAM = re.compile(r"warning: --: there is no file .* \[program\]$")


class Message(NamedTuple):
    """A line of stderr as the page shows it; `field` is "" if it belongs to none."""

    text: str
    field: str
    is_warning: bool


def messages(stderr: str, form: Form, is_refused: bool) -> list[Message]:
    """The messages in what a command wrote to stderr, each with its field."""
    fields = _fields_by_place()
    lines = [line.removeprefix(_PREFIX) for line in stderr.splitlines() if line.strip()]
    return [
        Message(_OWN_PLACE.sub("", line, count=1), _field_of(line, form, fields), not is_refused)
        for line in lines
        if not _MISSING_PROGRAM.match(line)
    ]


def _fields_by_place() -> dict[str, str]:
    """The names of fields by what messages call them."""
    places = {"--": PROGRAM, "--profile": PROFILE, "--set": "set_values"}
    places |= {flag: name for name, row in OPTIONS.items() for flag in row.flags}
    return {**places, **{f"--set {each.path}": each.name for each in all_fields() if each.is_key}}


def _field_of(line: str, form: Form, fields: dict[str, str]) -> str:
    line = line.removeprefix(_WARNING)
    if found := _OWN_PLACE.match(line):
        return found[1]
    if found := _OPTION.match(line):
        place = found[1]
        if place.startswith("--set "):
            return fields.get(place, "set_values")
        return fields.get(place, "directives")  # Slurm's own name of a directive
    if _FILE.match(line):
        return PROFILE_TEXT if form.get(PROFILE) == OWN_PROFILE else PROFILE
    return ""
