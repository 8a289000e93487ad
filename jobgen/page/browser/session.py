"""Answers what the page asks: the script of a form, its drawing and defaults, what lint finds."""

from __future__ import annotations

import io
import json
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from jobgen.errors import JobgenError, run_command
from jobgen.generator import Generator, find_profiles
from jobgen.page.browser.command import OwnProfile, clean, command_of, words_of
from jobgen.page.browser.drawing import drawing_of
from jobgen.page.browser.fields import all_fields
from jobgen.page.browser.messages import messages
from jobgen.page.browser.syntax_tree import install
from jobgen.planner.amounts import gpus_per_node
from jobgen.planning.command_line import parse_command
from jobgen.planning.job_options import OPTIONS
from jobgen.profiles.model import Profile
from jobgen.quoting import quote

MACHINERY = "# ==== machinery of jobgen"  # how its first line begins, below what a person reads
LINTED = "script.sh"  # what a pasted script is called in findings


class Output(NamedTuple):
    """What a command leaves."""

    exit_code: int
    stdout: str
    stderr: str


class Session:
    """Runs jobgen in this process; `run` is its program, which reads sys.argv and ends Python."""

    def __init__(self, run: Callable[[], object], parse: Any = None) -> None:
        self._run = run
        self._own_profile = OwnProfile()
        if parse is not None:
            install(parse)

    def answer(self, question: str) -> str:
        """The answer to a question, both in JSON; `kind` names one of the methods below."""
        fields = json.loads(question)
        methods = {"script": self.script, "job": self.job, "lint": self.lint}
        try:
            found = methods[fields["kind"]](fields)
        except Exception:  # a fault of jobgen's own: the page shows it
            found = {"fault": traceback.format_exc()}
        return json.dumps(found)

    def script(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The script of a form, the command that makes it, and its messages by their fields."""
        form = clean(question["form"])
        command = "sbatch"
        words: list[str] = []

        def run() -> int:
            nonlocal command, words
            profile = self._own_profile.name_of(form)
            command = command_of(profile)
            words = words_of(form, profile, command)
            return 0

        output = self._captured(lambda: run_command(run))
        if output.exit_code == 0:
            output = self.run(words)
        upper, mark, machinery = output.stdout.partition(MACHINERY)
        return {
            "command": command,
            "line": " ".join(map(quote, words)),
            "exit": output.exit_code,
            "upper": upper,
            "machinery": mark + machinery,
            "messages": [
                each._asdict() for each in messages(output.stderr, form, output.exit_code != 0)
            ],
        }

    def job(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """The drawing of a form's job, and the defaults of its profile; null where it is wrong."""
        form = clean(question["form"])
        answer: dict[str, Any] = {"drawing": None, "defaults": {}}
        try:
            profile = self._own_profile.name_of(form)
            answer["defaults"] = defaults(profile) if profile else {}
            words = words_of(form, profile, command_of(profile))
            answer["drawing"] = drawing_of(Generator().plan(parse_command(words[1:])))._asdict()
        except (JobgenError, MemoryError, RecursionError):
            pass  # the question for the script is answered with the reason
        return answer

    def lint(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """What lint finds in a script."""
        text = clean({"text": question["text"]})["text"]
        Path(LINTED).write_text(text, encoding="utf-8", newline="")
        output = self.run(["jobgen", "lint", LINTED])
        summary = output.stderr.replace("jobgen: ", "")
        return {"exit": output.exit_code, "findings": output.stdout, "summary": summary}

    def run(self, words: Sequence[str]) -> Output:
        """Run a command line as the program does."""

        def run() -> object:
            sys.argv = list(words)
            return self._run()

        return self._captured(run)

    def _captured(self, run: Callable[[], object]) -> Output:
        """Run a function, and take what it writes and its exit code."""
        streams = sys.stdout, sys.stderr
        out, errors = io.BytesIO(), io.StringIO()
        sys.stdout, sys.stderr = io.TextIOWrapper(out, "utf-8"), errors
        code: object = 0
        try:
            code = run()
        except SystemExit as end:
            code = end.code
        finally:
            sys.stdout.flush()
            data = out.getvalue()
            sys.stdout, sys.stderr = streams
        return Output(code if isinstance(code, int) else 0, data.decode("utf-8"), errors.getvalue())


def defaults(profile: str) -> dict[str, str]:
    """What holds for fields without a choice; a switch is `on` or missing. Raises JobgenError."""
    resolved = find_profiles().load(profile)
    values = {each.name: _value(resolved.profile, each.path) for each in all_fields() if each.path}
    values["gpus_per_node"] = gpus_per_node(resolved)
    del values["shared"]  # a site may give whole nodes to whoever does not ask for them
    texts = {name: _default(name, value) for name, value in values.items()}
    return {name: text for name, text in texts.items() if text}


def _value(profile: Profile, path: str) -> Any:
    """The value of a key, None in a part that the profile does not have."""
    value: Any = profile
    for name in path.split("."):
        value = getattr(value, name, None)
    return value


def _default(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "on" if str(value).lower() == OPTIONS[name].flag_value else ""
    if isinstance(value, tuple):
        return ", ".join(value)
    return "" if value is None else str(value)
