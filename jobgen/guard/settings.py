"""The file in which an administrator says what the guard refuses, warns of, and lets pass."""

from pathlib import Path
from typing import NamedTuple

from jobgen.bounds import YAML_BYTES
from jobgen.errors import JobgenError, Mark, problem
from jobgen.lint.options import read_versions
from jobgen.lint.settings import Settings, codes_of, load_profile
from jobgen.profiles.kinds import Int, ProblemList, Text
from jobgen.profiles.records import ListOf, Record, record, row
from jobgen.profiles.yaml_tree import parse

# Looks for a folder of the user's, of which the service knows nothing.
_NEEDS_FILES = {"JG212"}
_CODE = Text(r"[A-Za-z0-9]+", "a code of a rule, or its beginning")
_PATH = Text(r"/.+", "an absolute path")
_SOCKET = Text(r"/.{,106}", "an absolute path of at most 107 characters")


@record
class Guard(NamedTuple):
    """The keys of the file."""

    refuse: tuple[str, ...] = row(ListOf(_CODE), "Rules whose findings refuse a job.", tuple)
    warn: tuple[str, ...] | None = row(ListOf(_CODE), "Rules that warn. Default: all others.")
    exempt_users: tuple[str, ...] = row(ListOf(Text()), "Users whose jobs always pass.", tuple)
    exempt_groups: tuple[str, ...] = row(ListOf(Text()), "Groups likewise.", tuple)
    profile: str | None = row(Text(), "The cluster's profile, for the rules JG7.")
    versions: tuple[str, ...] = row(ListOf(Text()), "Versions of tools: slurm=23.11.", tuple)
    time_limit: int = row(Int(1, 60_000), "Milliseconds that a submission waits at most.", 150)
    log: str = row(_PATH, "The file of what was found.", "/var/log/jobgen-guard/log.jsonl")
    socket: str = row(_SOCKET, "Where the service listens.", "/run/jobgen-guard/socket")


class Choice(NamedTuple):
    """A file's settings, as the service uses them; without `lint`, no rule is chosen."""

    guard: Guard
    refused: frozenset[str] = frozenset()
    lint: Settings | None = None


def read_guard(file: str) -> Choice:
    """The settings in a file. Raises JobgenError with all its problems."""
    try:
        with Path(file).open("rb") as stream:
            tree = parse(stream.read(YAML_BYTES + 1), file)
    except OSError as error:
        raise problem(file, f"cannot be read: {error.strerror}", "unreadable") from None
    problems = ProblemList()
    guard = Record(Guard).read(tree, problems)
    if problems.found:
        raise JobgenError(problems.found)
    return _choice(guard, file)


def _choice(guard: Guard, file: str) -> Choice:
    refused = codes_of(f"{file}: refuse", guard.refuse) - _NEEDS_FILES
    warned = codes_of(f"{file}: warn", guard.warn or ()) - _NEEDS_FILES
    read_versions(f"{file}: versions", guard.versions)
    try:
        if guard.profile:
            load_profile(guard.profile)
    except JobgenError as error:
        mark = Mark(f"{file}: profile")
        raise JobgenError(each._replace(mark=mark) for each in error.problems) from None
    select = () if guard.warn is None else tuple(refused | warned)
    lint = Settings(select, (), guard.profile, tuple(refused), guard.versions)
    return Choice(guard, frozenset(refused), lint if select or guard.warn is None else None)
