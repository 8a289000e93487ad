"""What the copy of a job's script says of the job: its command, its name, what it is made of."""

from __future__ import annotations

import hashlib
import re
import shlex
from contextlib import suppress
from itertools import pairwise
from pathlib import Path, PurePath
from typing import NamedTuple

from jobgen.bounds import SCRIPT_BYTES
from jobgen.code_store.store import store_folder
from jobgen.errors import JobgenError
from jobgen.runs.records import LOGS, Record, read_plain
from jobgen.scripts.header import read_header

_NAME = re.compile(rb"^#(?:SBATCH --job-name=|PBS -N )(.+)$", re.MULTILINE)
_CODE = re.compile(rb"^workspace=(.+)$", re.MULTILINE)
_ENVIRONMENT = re.compile(rb"^ +(?:export VIRTUAL_ENV|stage_from)=(.*/environments/.+)$", re.M)
_MAKE_ENVIRONMENT = re.compile(rb"make it:\" \\\n +(.+?)(?: >&2)?$", re.MULTILINE)


class ScriptFacts(NamedTuple):
    """What a script says; all is empty if there is no copy of it."""

    command: str = ""  # which made it
    name: str = ""  # of the job
    made_of: str = ""  # versions and fingerprints
    scheduler: str = ""  # slurm, pbs or local
    keeps_record: bool = True  # not if it is the plain script
    code: str = ""  # the copy of the code that it runs, as a path with $NAME
    environment: str = ""  # that of its lock, as a path with $NAME
    build: str = ""  # the command that makes this environment

    @property
    def words(self) -> list[str]:
        """The words of the command."""
        with suppress(ValueError):  # a quotation mark that is not closed
            return shlex.split(self.command)
        return self.command.split()

    @property
    def profile(self) -> str:
        """The profile that the command names."""
        for word, following in pairwise([*self.words, ""]):
            if word == "--":
                break
            if word in ("--profile", "-p"):
                return following
            if word.startswith("--profile="):
                return word.partition("=")[2]
        return ""


def read_script(record: Record) -> bytes | None:
    """The copy of a job's script; None if it is gone, or is not what the job ran."""
    with suppress(OSError):
        data = read_plain(record.script_file, SCRIPT_BYTES)
        if record.script and hashlib.sha256(data).hexdigest() == record.script:
            return data
    return None


def script_facts(data: bytes | None) -> ScriptFacts:
    """What a script says of its job."""
    header = read_header(data) if data else None
    if not data or not header:
        return ScriptFacts()
    program = header.command.partition(" -- ")[2].removeprefix("-m ").split(" ")[0]
    return ScriptFacts(
        command=header.command,
        name=_word(_NAME, data) or PurePath(program).stem,  # a local job has no name
        made_of=", ".join(f"{name} {value}" for name, value in header.parts.items()),
        scheduler=next((n for n, mark in _MARKS.items() if mark in data), "local"),
        keeps_record=b"\nrecord() {" in data,
        code=_word(_CODE, data),
        environment=_word(_ENVIRONMENT, data),
        build=_text(_MAKE_ENVIRONMENT, data),
    )


_MARKS = {"slurm": b"\n#SBATCH ", "pbs": b"\n#PBS "}


def _text(pattern: re.Pattern[bytes], data: bytes) -> str:
    found = pattern.search(data)
    return found[1].decode("utf-8", "surrogateescape") if found else ""


def _word(pattern: re.Pattern[bytes], data: bytes) -> str:
    """The first group of a pattern without the quotation marks of bash."""
    text = _text(pattern, data)
    with suppress(ValueError):
        return "".join(shlex.split(text, comments=True)[:1])
    return text


def place_of(path: str, record: Record) -> Path | None:
    """The path here of one with $NAME in a job's script; None if there is none, or none is known.

    $PWD is the folder that the job was submitted from.
    """
    within = record.folder.parent if record.folder.name == LOGS else Path()
    with suppress(JobgenError, ValueError):
        return within / store_folder(path, within.absolute()) if path else None
    return None
