"""Turns a form into the words of a command, and assigns the command's messages to its fields."""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jobgen.errors import JobgenError, problem
from jobgen.generator import Generator
from jobgen.page.browser.fields import (
    OWN_PROFILE,
    PROFILE,
    PROFILE_FILE,
    PROFILE_TEXT,
    PROGRAM,
    all_fields,
)
from jobgen.planner.assembly import command_words
from jobgen.planning.job_options import FIELD_OF_FLAG, OPTIONS, Job
from jobgen.quoting import split_words

Form = Mapping[str, str]  # the text of each field by its name; `on` for a switch that is on
DEFAULT_FILE = "cluster.yaml"
_FILE_NAME = r"[A-Za-z0-9][\w.-]{0,80}\.ya?ml"
_PREFIX = "jobgen: "
_WARNING = "warning: "
# These names of fields are not shown in a message: only the page has them.
_OWN_PLACE = re.compile(f"^({PROFILE_FILE}|{PROFILE_TEXT}): ")
_OPTION = re.compile(r"(--set [\w.]+|-[-\w]*): ")
_FILE = re.compile(r"\S.*?\.ya?ml(:\d+:\d+)?: ")
# The page has none of the user's files, so it cannot tell whether this one is missing.
_MISSING_PROGRAM = re.compile(r"warning: --: there is no file .* \[program\]$")


def clean(form: Mapping[str, object]) -> dict[str, str]:
    """The texts of a form, which a link may fill with anything: lone surrogates are replaced."""
    texts = {str(name): value for name, value in form.items() if isinstance(value, str)}
    return {
        name: text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        for name, text in texts.items()
    }


class OwnProfile:
    """The pasted profile of a form, as a file in the working folder."""

    def __init__(self) -> None:
        self._file: Path | None = None

    def name_of(self, form: Form) -> str | None:
        """The form's profile, as a name or as the file of a pasted one. Raises JobgenError."""
        if self._file:
            self._file.unlink(missing_ok=True)
            self._file = None
        if form.get(PROFILE) != OWN_PROFILE:
            return form.get(PROFILE) or None
        name = form.get(PROFILE_FILE, "").strip() or DEFAULT_FILE
        if not re.fullmatch(_FILE_NAME, name):
            hint = f"a name such as {DEFAULT_FILE}"
            raise problem(PROFILE_FILE, f"{name!r:.80} is no name of a profile", "value", hint)
        text = form.get(PROFILE_TEXT, "")
        if not text.strip():
            hint = "paste one, such as `jobgen detect` writes it"
            raise problem(PROFILE_TEXT, "no profile is here yet", "missing", hint)
        self._file = Path(name)
        self._file.write_text(text, encoding="utf-8", newline="")
        return name


def command_of(profile: str | None) -> str:
    """The command for a profile's scheduler; for a wrong profile `sbatch`, which reports it."""
    try:
        return Generator().command(profile) if profile else "sbatch"
    except JobgenError:
        return "sbatch"


def words_of(form: Form, profile: str | None, command: str) -> list[str]:
    """The words of the command line for a form. Raises JobgenError.

    Fields that the command does not have are ignored, since the page does not show them. Blanks
    around a value are removed, since nobody sees them.
    """
    values: dict[str, Any] = {}
    own_values: list[str] = []
    for field in all_fields():
        text = form.get(field.name, "").strip()
        if not text or command not in field.commands:
            continue
        if field.name == PROGRAM:
            values[PROGRAM] = _program(text)
        elif field.is_key:
            is_list = field.kind == "lines"
            value = json.dumps(_lines(text), ensure_ascii=False) if is_list else text
            own_values.append(f"{field.path}={value}")
        elif field.kind == "lines":
            values[field.name] = _lines(text)
        else:
            values[field.name] = OPTIONS[field.name].flag_value if field.kind == "switch" else text
    set_values = (*own_values, *values.pop("set_values", ()))
    job = Job(command, profile=profile, set_values=set_values)
    return command_words(job._replace(**values))


def _program(text: str) -> tuple[str, ...]:
    try:
        return tuple(split_words(text))
    except ValueError as error:
        raise problem("--", str(error), "usage", "put the word between '…'") from None


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in map(str.strip, text.splitlines()) if line)


def messages(stderr: str, form: Form, is_refused: bool) -> list[dict[str, Any]]:
    """The messages that a command wrote to stderr; `field` is "" for a message about no field."""
    keys = {f"--set {each.path}": each.name for each in all_fields() if each.is_key}
    fields = {**FIELD_OF_FLAG, "--": PROGRAM, **keys}  # by their names in messages
    lines = [line.removeprefix(_PREFIX) for line in stderr.splitlines() if line.strip()]
    return [
        {
            "text": _OWN_PLACE.sub("", line, count=1),
            "field": _field_of(line, form, fields),
            "is_warning": not is_refused,
        }
        for line in lines
        if not _MISSING_PROGRAM.match(line)
    ]


def _field_of(line: str, form: Form, fields: dict[str, str]) -> str:
    line = line.removeprefix(_WARNING)
    if found := _OWN_PLACE.match(line):
        return found[1]
    if found := _OPTION.match(line):
        # An option without a field is a directive, by Slurm's own name.
        other = "set_values" if found[1].startswith("--set ") else "directives"
        return fields.get(found[1], other)
    if _FILE.match(line):
        return PROFILE_TEXT if form.get(PROFILE) == OWN_PROFILE else PROFILE
    return ""
