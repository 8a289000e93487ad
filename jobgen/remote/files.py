"""Files that go to a login node and come back, by the user's own rsync over ssh."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from jobgen.errors import JobgenError, printable, problem, report
from jobgen.paths import is_outside
from jobgen.quoting import UNSET, names_set, quote_path
from jobgen.remote.place import unreachable
from jobgen.runs.records import LOGS, logs_of_host, note_place, read_records
from jobgen.submission.login import SSH, Login
from jobgen.submission.machine import Answer, run_here

QUERY_SECONDS = 60.0
_RECORDS = ("*.json", "scripts", "chain-*")
_LOST = (10, 12, 30, 35, 255)  # rsync's exit statuses for a connection that failed or was lost
_SOME_MISSING = (0, 23, 24)  # some files could not be read, or have vanished
_OUTPUT = re.compile(r".+\.(out|err|log|OU|ER|[oe]\d+(\.\d+)?)")
_ANY_INDEX = "^array_index^"
_EXISTING = """\
while IFS= read -r name; do
  rest=${name#*"^array_index^"}
  if [[ $rest == "$name" ]]; then files=("$name"); else
    files=("${name%%"^array_index^"*}"*([0-9])"$rest"); fi
  for file in "${files[@]}"; do [[ ! -f $file ]] || printf "%s\\n" "$file"; done
done
"""
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


def place_here(login: Login, path: str) -> Path | None:
    """Where an output file comes to here; None if it may come nowhere.

    The login node names the file. So that it can choose no file of yours, it is the same place in
    the folder here only for a name that outputs have, and without a part that is hidden or a link
    out of the folder; others come to the folder of the host.
    """
    place = Path(os.path.relpath(path or "/", login.folder.replace("$$", "$")))
    if place.parts[:1] == ("..",):
        place = Path(place.name)
    if not place.name or not path.isprintable() or any(each[0] == "." for each in place.parts):
        report(f"not fetched from {login.name}: a hidden file, or none: {printable(path)}")
        return None
    if not _OUTPUT.fullmatch(place.name) or is_outside(place.parent, Path()):
        return logs_here(login) / "outputs" / place.name
    return place


def fetch_files(login: Login, paths: Sequence[str]) -> list[str]:
    """Copy output files of the login node to here; returns those that came."""
    places = [(path, place) for path in paths if (place := place_here(login, path))]
    return [str(place) for path, place in places if _fetch_file(login, path, place)]


def _fetch_file(login: Login, path: str, place: Path) -> bool:
    """Copy a file, and nothing else that the login node may send: rsync writes to a new folder."""
    place.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".jobgen-", dir=place.parent) as folder:
        new = Path(folder, place.name)
        answer = rsync(["-t"], address(login, path), str(new.absolute()), login)
        if answer.status or new.is_symlink() or not new.is_file():
            return False
        new.replace(place)
    return True


def fetch_logs(
    login: Login, logs: str = LOGS, only: Sequence[str] = _RECORDS, here: Path | None = None
) -> None:
    """Copy the records and scripts in a folder of logs there to `here`, or to the host's folder.

    `only` are other patterns of names in that folder, which is not there before a job has begun.
    Nothing here is removed, and what the submissions of jobs have noted stays. Raises JobgenError.
    """
    if login.lacks_folder and not logs.startswith(("/", "$", "~")):
        return  # those in the home are another project's
    here = here or logs_here(login, logs)
    words = ("bash", "-c", f"{names_set(logs)}cd -- {quote_path(logs)} && pwd -P")
    answer = login.run_again(words, seconds=QUERY_SECONDS)
    if answer.status is None:
        raise unreachable(login, answer.reason)
    if answer.status == UNSET:
        raise problem("request.log_folder", f"{login.name}: {answer.reason}", "host")
    if answer.status:
        return
    filters = [f"--include=/{each}" for name in only for each in (name, f"{name}/**")]
    here.mkdir(parents=True, exist_ok=True)
    source = address(login, answer.output.strip("\n"))
    options = ("-rt", "--exclude=.*", *filters, "--exclude=*")
    noted = [each for each in read_records(here) if each.logs_there]
    try:
        answer = rsync(options, f"{source}/", f"{here.absolute()}/", login)
    finally:
        for record in noted:
            note_place(record)
    if answer.status not in _SOME_MISSING:
        raise failed(login, answer)


def logs_here(login: Login, logs: str = LOGS) -> Path:
    """The folder here, of the host alone, for what is in a folder of logs there."""
    is_here = not re.match(r"[/$~]", logs) and ".." not in logs
    return logs_of_host(Path(logs if is_here else LOGS), login.name)


def existing_outputs(login: Login, names: Sequence[str]) -> list[str]:
    """Those of these files that are there; PBS's ^array_index^ in a name is any number."""
    if len(names) < 2 and not any(_ANY_INDEX in name for name in names):
        return list(names)  # rsync says whether it is there
    lines = "".join(f"{name}\n" for name in names)
    words = ("bash", "-O", "extglob", "-c", _EXISTING)
    answer = login.run_again(words, lines.encode(), QUERY_SECONDS)
    if answer.status is None:
        raise unreachable(login, answer.reason)
    return [*dict.fromkeys(answer.output.splitlines())]


def left_by(job: str, records_only: bool = False) -> list[str]:
    """The patterns of names of what a job, and the jobs of an array, left in the folder of logs."""
    number = re.split(r"[.;\[_]", job)[0]
    own = [f"{number}.*json", f"{number}_*json"]
    if not records_only:
        own = [number, f"{number}.*", f"{number}_*"]
    return [*own, f"chain-{number}", "scripts"]


def failed(login: Login, answer: Answer) -> JobgenError:
    """The error for an rsync that failed, though ssh did not."""
    return problem("--host", f"rsync with {login.name} failed: {answer.reason}", "host")
