"""The file in which an administrator says what the guard refuses, warns of, and lets pass."""

import grp
import pwd
from pathlib import Path
from typing import NamedTuple

from jobgen.bounds import YAML_BYTES
from jobgen.errors import JobgenError, Mark, problem, report
from jobgen.lint.options import read_versions
from jobgen.lint.rules import checks
from jobgen.lint.run import IGNORE_COMMENT
from jobgen.lint.settings import Settings, chosen_checks, codes_of, load_profile
from jobgen.profiles.kinds import Int, ProblemList, Text
from jobgen.profiles.records import ListOf, Record, record, row
from jobgen.profiles.yaml_tree import parse

# Looks for a folder of the user's, of which the service knows nothing.
_NEEDS_FILES = {"JG212"}
_BEGINNINGS = sorted({code[:size] for code in checks() for size in range(1, 6)})
_CODE = Text(f"(?i:{'|'.join(_BEGINNINGS)})", "a code of `jobgen rules`, or its beginning")
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
    refused, warned = _codes(guard.refuse), _codes(guard.warn or ())
    _report_unknown(guard, file)
    read_versions(f"{file}: versions", guard.versions)
    try:
        if guard.profile:
            load_profile(guard.profile)
    except JobgenError as error:
        mark = Mark(f"{file}: profile")
        raise JobgenError(each._replace(mark=mark) for each in error.problems) from None
    if not refused | warned and guard.warn is not None:
        return Choice(guard)
    # A user may have to know why an ignore comment does not count.
    select = () if guard.warn is None else (*refused, *warned, IGNORE_COMMENT)
    lint = Settings(select, (), guard.profile, tuple(refused), guard.versions)
    return Choice(guard, frozenset(refused), lint)


def _codes(beginnings: tuple[str, ...]) -> set[str]:
    """The codes of rules; only a whole code chooses a rule that is off by default."""
    chosen = chosen_checks(Settings()).keys() | {each.upper() for each in beginnings}
    return codes_of("", beginnings) & chosen - _NEEDS_FILES


def _report_unknown(guard: Guard, file: str) -> None:
    """Report exempt users and groups that this machine does not know; others may know them."""
    for key, find in (("exempt_users", pwd.getpwnam), ("exempt_groups", grp.getgrnam)):
        for name in getattr(guard, key):
            try:
                find(name)
            except KeyError:
                report(f"{file}: {key}: this machine has no `{name}`; is it spelled right?")
