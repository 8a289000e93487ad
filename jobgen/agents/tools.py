"""The tools of `jobgen mcp`, and the words of the command line that a call of one becomes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from jobgen.agents.limit import FREE, LIMITED
from jobgen.api.values import argument_type, job_fields
from jobgen.errors import nearest_hint, problem
from jobgen.planning.job_options import OPTIONS
from jobgen.planning.option_row import BATCH, BYHAND, SCRIPT

Schema = Mapping[str, Any]
_TEXT: Schema = {"type": "string"}
_TEXTS: Schema = {"type": "array", "items": _TEXT}
# By the type of the API's argument; all others are texts.
_SCHEMAS: Mapping[str, Schema] = {
    "bool": {"type": "boolean"},
    "int | str": {"type": ["integer", "string"]},
    **dict.fromkeys(("Words", "Values"), _TEXTS),
}
_SCRIPTS = ("write_script", "submit")
_FREE = ("code", "output")  # they change files
_OWN = ("command", "program", "output")  # arguments of a script's tool that are no option of a job


class Tool(NamedTuple):
    """A tool; tools.yaml explains the fields."""

    description: str
    command: str = ""
    options: Mapping[str, str] = {}
    word: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    required: tuple[str, ...] = ()
    mode: str = LIMITED

    @property
    def properties(self) -> dict[str, Schema]:
        """The JSON Schema of each argument."""
        texts = {**self.options, **self.word}
        found = {name: {**_TEXT, "description": text} for name, text in texts.items()}
        return found | {name: {**_TEXTS, "description": t} for name, t in self.files.items()}

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of all arguments."""
        named = {"properties": self.properties, "required": [*self.required]}
        return {"type": "object", "additionalProperties": False, **named}

    def words(self, given: Mapping[str, Any]) -> list[str]:
        """The words of the command line. Raises JobgenError for wrong arguments."""
        self.check(given)
        options = [f"--{name}={given[name]}" for name in self.options if name in given]
        names = [*self.word, *self.files]
        words = [word for name in names if name in given for word in as_words(given[name])]
        return [*self.command.split(), *options, *(["--", *words] if words else [])]

    def check(self, given: Mapping[str, Any]) -> None:
        """Raise JobgenError for an argument that does not exist, or is missing."""
        for name in given:
            if name not in self.properties:
                hint = nearest_hint(name, self.properties) if self.properties else "it takes none"
                if name in _FREE and isinstance(self, ScriptTool) and self.mode == LIMITED:
                    hint = "start `jobgen mcp` with --allow-submit"
                raise problem(f"{name:.80}", "no such argument", "usage", hint)
        for name in self.required:
            if not given.get(name):
                raise problem(name, "it is missing", "usage", self.properties[name]["description"])


class ScriptTool(Tool):
    """A tool that makes a script; its arguments are those of `jobgen.script`."""

    __slots__ = ()

    @property
    def properties(self) -> dict[str, Schema]:
        commands = sorted(BATCH if self.command else SCRIPT)
        found: dict[str, Schema] = {
            "command": {"enum": commands, "description": "The default is sbatch, for Slurm."},
            "program": {**_TEXTS, "description": "The words of the program, such as train.py."},
        }
        if self.mode == FREE and not self.command:
            found["output"] = {**_TEXT, "description": "Write the script to this file."}
        for name, row in OPTIONS.items():
            if row.commands != BYHAND and (self.mode == FREE or name not in _FREE):
                schema = _SCHEMAS.get(argument_type(row), _TEXT)
                found[name] = {**schema, "description": row.help.replace("; repeatable", "")}
        return found

    def words(self, given: Mapping[str, Any]) -> list[str]:
        self.check(given)
        job = {name: value for name, value in given.items() if name not in _OWN}
        fields = job_fields(given.get("program", []), job)
        program = fields.pop("program", ())
        command = given.get("command", "sbatch")
        if command not in self.properties["command"]["enum"]:
            hint = f"one of: {', '.join(self.properties['command']['enum'])}"
            raise problem("command", f"it cannot be {command!r:.40}", "usage", hint)
        words = [command, *self.command.split()]
        if "output" in given:
            words.append(f"--output={given['output']}")
        for name, value in fields.items():
            row = OPTIONS[name]
            values, flag = value if row.repeatable else (value,), row.flags[-1]
            words += [f"{flag}={each}" for each in values] if row.metavar else [flag]
        return [*words, *(["--", *program] if program else [])]


def read_texts(allow_submit: bool) -> dict[str, Any]:
    """tools.yaml; without `allow_submit`, no tool changes a file or submits a job."""
    found = yaml.safe_load(Path(__file__).with_name("tools.yaml").read_text(encoding="utf-8"))
    tools: dict[str, Tool] = {}
    for name, row in found["tools"].items():
        tools[name] = (ScriptTool if name in _SCRIPTS else Tool)(**row)
    if allow_submit:
        tools["write_script"] = tools["write_script"]._replace(mode=FREE)
    else:
        del tools["submit"]
    return {**found, "tools": tools}


def as_words(value: Any) -> list[str]:
    """The words of an argument: agents write a job's number, or one file, without a list."""
    return [str(each) for each in (value if isinstance(value, list) else [value])]
