"""What the copy of a job's script says of the job: its command, its name, what it is made of."""

from __future__ import annotations

import hashlib
import re
import shlex
from contextlib import suppress
from pathlib import PurePath
from typing import NamedTuple

from jobgen.bounds import SCRIPT_BYTES
from jobgen.errors import JobgenError, problem
from jobgen.quoting import options_of, split_words
from jobgen.runs.records import Record, read_plain
from jobgen.schedulers import COMMANDS
from jobgen.scripts.header import read_header

# What is only in the lines of a script.
_LINES = {
    "name": rb"^#(?:SBATCH --job-name=|PBS -N )(.+)$",
    "output": rb"^#(?:SBATCH --output=|PBS -o )(.+)$",
    "chdir": rb"^(?:#SBATCH --chdir=|cd (?!\"\$\{PBS_))(.+)$",
    "logs": rb"^logs=(?:\$PWD/)?(.+?)/\$job",
    "code": rb"^workspace=(.+)$",
    "environment": rb"^ +(?:export VIRTUAL_ENV|stage_from)=(.*/environments/.+)$",
    "build": rb"make it:\" \\\n +(.+?)(?: >&2)?$",
}


class ScriptFacts(NamedTuple):
    """What a script says; all else is empty if there is no copy of it."""

    missing: str = ""  # why there is none
    command: str = ""  # which made it
    made_of: str = ""  # versions and fingerprints
    scheduler: str = ""  # slurm, pbs or local
    keeps_record: bool = True  # not if it is the plain script
    is_chain: bool = False
    name: str = ""  # of the job
    output: str = ""  # its output file, with the scheduler's patterns; "" is the default
    chdir: str = ""  # its working folder, from that of its submission; "" is the same one
    logs: str = ""  # the folder of its records, from its working folder or with $NAME
    code: str = ""  # the copy of the code that it runs, as a path with $NAME
    environment: str = ""  # that of its lock, as a path with $NAME
    build: str = ""  # the command that makes this environment

    @property
    def words(self) -> list[str]:
        """The words of the command."""
        with suppress(ValueError):  # somebody edited it
            return split_words(self.command)
        return self.command.split()

    @property
    def program(self) -> str:
        """The words of the command after `--`."""
        return self.command.partition(" -- ")[2]

    @property
    def profile(self) -> str:
        """The profile that the command names."""
        options = dict(options_of(self.words))
        return options.get("--profile") or options.get("-p", "")


def read_script(record: Record) -> bytes:
    """The copy of a job's script. Raises JobgenError if it is gone, or is not what the job ran."""
    if not record.script:
        text, hint = "its script came through a pipe", "make it again with the same options"
        raise problem(record.job, text, "script", hint)
    try:
        data = read_plain(record.script_file, SCRIPT_BYTES)
    except OSError:
        text = f"its script is gone: {record.script_file}"
        hint = f"make it again; the right one has the SHA-256 {record.script}"
        raise problem(record.job, text, "script", hint) from None
    if hashlib.sha256(data).hexdigest() != record.script:
        text = f"{record.script_file} is not the script that it ran"
        raise problem(record.job, text, "script", "make it again with the same options")
    return data


def script_facts(record: Record) -> ScriptFacts:
    """What the script of a job says of it."""
    try:
        header = read_header(data := read_script(record))
    except JobgenError as error:
        return ScriptFacts(error.problems[0].text)
    if not header:
        return ScriptFacts(f"jobgen has not made {record.script_file}")
    made_by, _, program = header.command.partition(" -- ")
    lines = {name: _value(pattern, data) for name, pattern in _LINES.items()}
    command = "".join(made_by.split()[1:2])
    lines["name"] = lines["name"] or PurePath(program.removeprefix("-m ").split(" ")[0]).stem
    return ScriptFacts(
        command=header.command,
        made_of=", ".join(f"{name} {value}" for name, value in header.parts.items()),
        scheduler={command: name for name, command in COMMANDS.items()}.get(command, ""),
        keeps_record=b"\nrecord() {" in data,
        is_chain=b"\nchain=" in data,
        **lines,
    )


def _value(pattern: bytes, data: bytes) -> str:
    """The first group of a pattern, without the quotation marks of bash."""
    found = re.search(pattern, data, re.MULTILINE)
    text = found[1].decode("utf-8", "surrogateescape") if found else ""
    with suppress(ValueError):
        return " ".join(shlex.split(text, comments=True))
    return text
