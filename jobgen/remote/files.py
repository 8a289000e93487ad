"""Files that go to a login node and come back, by the user's own rsync over ssh."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from jobgen.errors import JobgenError, problem
from jobgen.quoting import quote_path
from jobgen.remote.place import unreachable
from jobgen.runs.records import LOGS, logs_of_host
from jobgen.submission.login import SSH, Login
from jobgen.submission.machine import Answer, run_here

QUERY_SECONDS = 60.0
_RECORDS = ("*.json", "scripts", "chain-*")
_LOST = (10, 12, 30, 35, 255)  # rsync's exit statuses for a connection that failed or was lost
_SOME_MISSING = (0, 23, 24)  # some files could not be read, or have vanished
_PLAIN = re.compile(r"[\w./:@\[\]+-]+", re.ASCII)


def rsync(options: Sequence[str], source: str, target: str, login: Login) -> Answer:
    """Run rsync, again if the connection is lost. Raises JobgenError if that does not help."""
    names = () if _PLAIN.fullmatch(source + target) else ("--protect-args",)  # from shells there
    ssh = ("--timeout=60", "-e", " ".join((*SSH, *login.options)))
    words = ("rsync", *ssh, *names, *options, "--", source, target)
    answer = login.again(lambda: _rsync_once(words, login))
    if answer.status is None:
        raise unreachable(login, answer.reason)
    return answer


def _rsync_once(words: Sequence[str], login: Login) -> Answer:
    answer = run_here(words, b"", None)
    if answer.status is None:
        text = f"rsync does not run here: {answer.reason}"
        raise problem("--host", text, "host", "install rsync, here and there")
    if "is your shell clean" in answer.errors:
        text = f"a start file on {login.name} prints text, which rsync takes for its own"
        hint = f"`ssh {login.destination} true` must print nothing: see your ~/.bashrc there"
        raise problem("--host", text, "host", hint)
    return answer._replace(status=None) if answer.status in _LOST else answer


def address(login: Login, path: str) -> str:
    """A path on a login node, as rsync takes it."""
    return f"{login.name}:{path}"


def place_here(login: Login, path: str) -> str:
    """The path here of a file there: the same place in the folder, or its name alone."""
    folder = login.folder.replace("$$", "$")
    inner = os.path.relpath(path, folder)
    return os.path.basename(path) if inner.startswith("..") else inner


def fetch_files(login: Login, paths: Sequence[str]) -> list[str]:
    """Copy files of the login node to the same places here; returns those that came."""
    came = []
    for path in paths:
        here = Path(place_here(login, path))
        here.parent.mkdir(parents=True, exist_ok=True)
        answer = rsync(["-t"], address(login, path), str(here.absolute()), login)
        came += [str(here)] * (answer.status == 0)
    return came


def fetch_logs(
    login: Login,
    logs: str = LOGS,
    only: Sequence[str] = _RECORDS,
    may_lack: bool = False,
    here: Path | None = None,
) -> Path:
    """Copy the records and scripts in a folder of logs there to here; returns the folder here.

    It is `here`, or that of the host. `only` are other patterns of names in that folder.
    Nothing here is removed. Raises JobgenError, also if there is no such folder and the node may
    not lack it.
    """
    here = here or logs_here(login, logs)
    words = ("bash", "-c", f"cd -- {quote_path(logs)} && pwd -P")
    answer = login.run_again(words, seconds=QUERY_SECONDS)
    if answer.status is None:
        raise unreachable(login, answer.reason)
    if answer.status and may_lack:
        return here
    if answer.status:
        raise problem("--host", f"{login.name}: no job has left a record: {answer.reason}", "host")
    filters = [f"--include=/{each}" for name in only for each in (name, f"{name}/**")]
    here.mkdir(parents=True, exist_ok=True)
    source = address(login, answer.output.strip("\n"))
    answer = rsync(["-rt", *filters, "--exclude=*"], f"{source}/", f"{here.absolute()}/", login)
    if answer.status not in _SOME_MISSING:
        raise failed(login, answer)
    return here


def logs_here(login: Login, logs: str = LOGS) -> Path:
    """The folder here, of the host alone, for what is in a folder of logs there."""
    is_here = not re.match(r"[/$~]", logs) and ".." not in logs
    return logs_of_host(Path(logs if is_here else LOGS), login.name)


def left_by(job: str) -> list[str]:
    """The patterns of names of what a job left in its folder of logs."""
    number = re.split(r"[.;\[_]", job)[0]
    own = (f"{number}{mark}*" for mark in (".", "_", "[[]"))
    return [number, *own, f"chain-{number}", "scripts"]


def failed(login: Login, answer: Answer) -> JobgenError:
    """The error for an rsync that failed, though ssh did not."""
    return problem("--host", f"rsync with {login.name} failed: {answer.reason}", "host")
