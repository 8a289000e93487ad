"""Answers a call of a tool: runs the command line under the limit, and shortens what it says."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple

from jobgen.agents.limit import NO_CHANGE, Limit
from jobgen.agents.tools import ScriptTool, Tool, as_words
from jobgen.bounds import ANSWER_CHARACTERS, MESSAGE_CHARACTERS
from jobgen.errors import problem
from jobgen.paths import to_path
from jobgen.planning.job_options import OPTIONS
from jobgen.quoting import quote

_MACHINERY = "# ==== machinery of jobgen"  # begins the part of a script that nobody need read
_UNUSED = ("end_line", "end_column", "edits")
_FILES = {"files", "names", "profile", "code", "template", "output"}  # arguments
_MOST_MESSAGES = 20
_ARGUMENT_OF = {flag: name for name, row in OPTIONS.items() for flag in row.flags} | {
    "--": "program"
}


class Answer(NamedTuple):
    """What a command has said; `messages` are the lines of its stderr."""

    command: str
    exit_status: int
    result: Any
    messages: list[str]

    @property
    def is_error(self) -> bool:
        """Whether it failed: a check that found something has a result."""
        return self.exit_status not in (0, 1) or (self.exit_status == 1 and self.result == "")

    @property
    def text(self) -> str:
        """For clients that read no structured content; of an error, the messages alone."""
        if self.is_error:
            return "\n".join(self.messages) or f"{self.command} ended with {self.exit_status}"
        return json.dumps(self._asdict(), ensure_ascii=False)


def process_words(tool: Tool, given: Mapping[str, Any], folder: Path) -> list[str]:
    """The words of the process that answers a call. Raises JobgenError."""
    words, limit = tool.words(given), Limit(folder)
    for argument in _FILES & given.keys():
        for file in dict.fromkeys(as_words(given[argument])):
            if file == "-" or limit.is_outside(file):
                text = f"{file:.80} is outside of {folder}"
                raise problem(argument, text, "outside", "only files in it are read")
    return [sys.executable, "-m", "jobgen.agents.limit", tool.mode, str(folder), *words]


def answer_of(
    tool: Tool, given: Mapping[str, Any], done: subprocess.CompletedProcess[bytes], folder: Path
) -> Answer:
    """The answer to a call, by what its process wrote."""
    command = " ".join(map(quote, ("jobgen", *tool.words(given))))
    output, errors = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    lines = [_message(line)[:MESSAGE_CHARACTERS] for line in errors.splitlines()]
    messages = lines[:_MOST_MESSAGES]
    if len(lines) > len(messages):
        messages.append(f"and {len(lines) - len(messages)} more lines")
    result: Any = output.rstrip("\n")
    if isinstance(tool, ScriptTool):
        written = ""
        if "output" in given and done.returncode == 0:
            written = f"written: {given['output']}\n\n"
            output = (folder / to_path(str(given["output"]))).read_text(encoding="utf-8")
        result = written + output.partition(_MACHINERY)[0].rstrip("\n")
    elif output[:1] in ("[", "{"):
        result = _short(json.loads(output))
    return _bounded(Answer(command, done.returncode, result, messages))


def _message(line: str) -> str:
    """A line of stderr in an agent's words: it knows arguments, and may not change a file."""
    line = re.sub(f"({NO_CHANGE}); .*", r"\1", line.removeprefix("jobgen: "))
    option = r"^(warning: |)(--?[\w-]*)(?=: )"
    return re.sub(option, lambda found: found[1] + _ARGUMENT_OF.get(found[2], found[2]), line)


def _short(value: Any) -> Any:
    """The value without what is not known, and with `file:line:column` in one text.

    A verdict of `why` that knows nothing has `code`: null, as on the command line.
    """
    if isinstance(value, list):
        return [_short(each) for each in value]
    if not isinstance(value, dict):
        return value[:MESSAGE_CHARACTERS] if isinstance(value, str) else value
    place = [str(value[key]) for key in ("file", "line", "column") if value.get(key)]
    unused = ("file", "line", "column", *_UNUSED) if value.get("file") else _UNUSED
    rest = {key: _short(each) for key, each in value.items() if key not in unused}
    rest |= {"jobgen lint --fix": "mends it"} if value.get("edits") else {}
    found = ({"place": ":".join(place)} if value.get("file") else {}) | rest
    filled = {key: each for key, each in found.items() if each or type(each) is int}  # also rank 0
    return filled or {"code": None}


def _bounded(answer: Answer) -> Answer:
    """The answer with at most ANSWER_CHARACTERS of result, or of a map: its longest value is cut.

    Of a list, whole entries are left out: it stays a list.
    """
    parts = answer.result if isinstance(answer.result, dict) else {"": answer.result}
    key = max(parts, key=lambda each: _size(parts[each]))
    whole, excess = parts[key], _size(answer.result) - ANSWER_CHARACTERS
    if excess <= 0:
        return answer
    most = _size(whole) - excess
    if isinstance(whole, str):
        part, kind = whole[:most], "characters"
    else:
        ends = accumulate(_size(each) + 2 for each in whole)  # of JSON: a comma and a blank
        part, kind = whole[: sum(end <= most for end in ends)], "entries"
    left_out = f"the last {len(whole) - len(part)} of {len(whole)} {kind} are left out"
    note = f"{left_out}; `{answer.command:.300}` shows all"
    result = {**parts, key: part} if key else part
    return answer._replace(result=result, messages=[*answer.messages, note])


def _size(value: Any) -> int:
    return len(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))
