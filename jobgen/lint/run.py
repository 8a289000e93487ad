"""Lints files: which rules, on which scripts, less what their authors keep from lines."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from jobgen.errors import JobgenError, Mark, Problem, problem
from jobgen.limits import Apart, Ended
from jobgen.lint.prose import is_job, is_prose, scripts
from jobgen.lint.reader import parse
from jobgen.lint.rules import Rule, jg002_ignore, rules
from jobgen.lint.script import Script
from jobgen.lint.waivers import waivers
from jobgen.maker import project, repository
from jobgen.paths import HERE, leads_out, native, walked
from jobgen.profile import Profile

LARGEST = 1 << 20
# A longer file is tried in a process of its own first: the parser, in C, takes 29 s and 5 GB for
# 50 kB of `a|`, and nothing there can be interrupted.
SHORT = 1 << 14
SECONDS = 10  # of CPU
MEMORY = 2 << 30  # bytes
NESTED = 4  # scripts that are given to sbatch or qsub in one that is given to it
_TABLE = ("tool", "jobgen", "lint")
# In a folder, files that may be job scripts, if not too large; what decides is a directive in them.
_SUFFIXES = frozenset(("", ".sh", ".bash", ".sbatch", ".slurm", ".pbs", ".qsub", ".job", ".sub"))
_DIRECTIVE = re.compile(rb"^[ \t]*#(SBATCH|PBS)[ \t]", re.MULTILINE)
# A template that makes a script is none yet: Jinja's, R's brew's, Python's.
_TEMPLATE = re.compile(r"^(#(SBATCH|PBS).*(\{\{|<%|%\(\w+\)s)|\s*\{%)", re.MULTILINE)


@dataclass(frozen=True)
class Settings:
    """What the command line says, and the configuration where it says nothing."""

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    profile: str | None = None
    also: tuple[str, ...] = ()
    file: str = ""  # the configuration, if it comes from one


@dataclass(frozen=True)
class Outcome:
    """What was found, and in how many files; `passed_over` are no job scripts.

    `in_part` are places behind which a script was read in part, though bash reads it; `unread` says
    of files, folders and configurations what kept them from being read.
    """

    problems: list[Problem]
    files: int
    passed_over: int
    in_part: list[Mark]
    unread: list[Problem]


def lint(paths: Sequence[str], said: Settings, jobs_only: bool = False) -> Outcome:
    """Lint files, and the job scripts in folders; with `jobs_only`, only job scripts of either.

    Raises JobgenError for what is wrong with the settings.
    """
    found: list[Problem] = []
    unread: list[Problem] = []
    in_part: list[Mark] = []
    files = passed_over = 0
    _chosen("--select", said.select)
    _chosen("--ignore", said.ignore)
    _chosen("--also", said.also)
    if said.profile:
        _profile(said.profile)

    def unreadable(error: OSError) -> None:
        text = f"cannot be read: {error.strerror}"
        unread.append(Problem(Mark(str(error.filename)), text, "unreadable"))

    for path, named in _files(paths, unreadable):
        try:
            data = _data(path)
            # Without its zero bytes UTF-16 is what it seems to who wrote it.
            if (jobs_only or not named) and not _DIRECTIVE.search(data.replace(b"\0", b"")):
                passed_over += 1
                continue
            if b"\0" in data:
                raise problem(path, "no text: it has zero bytes in it", "unreadable",
                              "is it UTF-16? sbatch wants UTF-8")  # fmt: skip
            text = data.decode("utf-8", "surrogateescape")
            if len(data) > SHORT and not _ends(_checked, text, path, said):
                raise problem(path, f"takes more than {SECONDS} s, or {MEMORY >> 30} GiB, to read",
                              "unreadable", "is it a script?")  # fmt: skip
            checked = _checked(text, path, said)
            for parsed, here in checked:
                found += here
                if parsed.broken and all(each.code != "JG001" for each in here):
                    in_part.append(Mark(path, *parsed.broken))
            files += bool(checked)
            passed_over += not checked
        except JobgenError as error:
            if not error.problems or error.problems[0].code == "missing":
                raise
            unread += error.problems
    return Outcome(found, files, passed_over, in_part, sorted(set(unread)))


def _checked(text: str, path: str, said: Settings) -> list[tuple[Script, list[Problem]]]:
    """The scripts of a file, each with what is found in it."""
    each_one = scripts(text) if is_prose(path) else [(text, 0)]  # with how far it is indented
    parsed = [(parse(one, path), indent) for one, indent in each_one]
    return [(each, _check(each, _settings(path, said), indent)) for each, indent in parsed]


def _ends(what: Callable[..., object], *words: object) -> bool:
    """Whether something ends within SECONDS and MEMORY: it is tried in a process of its own."""

    def tried() -> None:
        what(*words)

    apart = Apart(tried, MEMORY, SECONDS)
    try:
        apart.ask()
    except JobgenError:  # it is raised again, where it is told
        pass
    except Ended:
        return False
    apart.end()
    return True


def script(text: str, file: str, settings: Settings) -> list[Problem]:
    """What the chosen rules find in one script, sorted by place."""
    return _check(parse(text, file), settings)


def _check(parsed: Script, settings: Settings, indent: int = 0, nested: int = 0) -> list[Problem]:
    if _TEMPLATE.search(parsed.text):
        return []
    profile = _profile(settings.profile) if settings.profile else None
    chosen = _chosen_rules(settings)
    told = [(each, rule.code) for rule in chosen for each in rule.check(parsed, profile)]
    if any(rule.code == jg002_ignore.CODE for rule in chosen) and not parsed.broken:
        tried = {rule.code for rule in chosen if profile or not rule.profile}
        lines = {(each.line, code) for each, code in told}
        unused = jg002_ignore.unused(parsed, tried - {jg002_ignore.CODE}, lines)
        told += [(each, jg002_ignore.CODE) for each in unused]
    kept = {(each.of, code) for each in waivers(parsed) if each.reason for code in each.codes}
    found = {
        Problem(Mark(parsed.file, each.line, each.column + indent), each.text, code, each.cure)
        for each, code in told
        if (each.line, code) not in kept
    }
    for inner in parsed.submitted if nested < NESTED else ():
        if is_job(inner.text):
            job = parse(inner.text, parsed.file, inner.begins, inner.given)
            if job.broken and not parsed.broken:
                line, column = job.broken
                parsed.broken = line, inner.column(line, column)
            for each in _check(job, settings, nested=nested + 1):
                column = inner.column(each.mark.line, each.mark.column) + indent
                found.add(each._replace(mark=each.mark._replace(column=column)))
    return sorted(found)


@cache
def _chosen_rules(settings: Settings) -> list[Rule]:
    select = _chosen("select", settings.select)
    ignore, also = _chosen("ignore", settings.ignore), _chosen("also", settings.also)
    return [
        rule
        for code, rule in rules().items()
        if code not in ignore
        and (code in select | also or (not settings.select and not rule.optional))
    ]


def _chosen(where: str, said: Iterable[str]) -> set[str]:
    """The codes that begin with one of those that are said."""
    found: set[str] = set()
    for text in (part.strip().upper() for each in said for part in each.split(",")):
        fit = {code for code in rules() if text and code.startswith(text)}
        if not fit:
            near = get_close_matches(text, rules(), 1, 0.5)
            hint = f"did you mean {near[0]}?" if near else "see `jobgen rules`"
            raise problem(where, f"there is no rule {text!r:.30}", "usage", hint)
        found |= fit
    return found


@cache
def _profile(name: str) -> Profile:
    from jobgen import store

    return store.load(name).profile


def _files(
    paths: Sequence[str], unreadable: Callable[[OSError], None]
) -> Iterator[tuple[str, bool]]:
    """Each file, and whether it was named itself; `unreadable` is told of folders."""
    for path in paths:
        if path != "-" and "\0" not in path and os.path.isdir(native(path)):
            top = os.fsdecode(path.encode("utf-8", "surrogateescape"))
            for folder, folders, names in walked(top, unreadable):
                folders[:] = sorted(name for name in folders if not _other(name))
                for name in sorted(names):
                    file = os.path.join(folder, name)
                    if (
                        not _other(name)
                        and Path(name).suffix.lower() in _SUFFIXES
                        and _may_be_script(file)
                    ):
                        yield os.fsencode(file).decode("utf-8", "surrogateescape"), False
        else:
            yield path, True


def _may_be_script(file: str) -> bool:
    try:
        state = os.lstat(file)  # a link may lead to a stranger's file, which would be shown
    except PermissionError:  # of a folder that lists its files: `_data` says so
        return True
    except OSError:  # it has gone
        return False
    return stat.S_ISREG(state.st_mode) and state.st_size <= LARGEST


def _other(name: str) -> bool:
    """Whether what is so called holds no scripts to submit: hidden, or templates of some tool."""
    return name.startswith(".") or "template" in name.lower()


def _data(path: str) -> bytes:
    try:
        if path == "-":
            if sys.stdin is None:
                raise problem(path, "stdin is closed", "unreadable")
            return sys.stdin.buffer.read()
        file = native(path)
        # What a shell hands over is a pipe, or a link to anywhere, and meant.
        if not path.startswith(("/dev/fd/", "/dev/stdin", "/proc/")):
            if not stat.S_ISREG(os.stat(file).st_mode):
                raise problem(path, "no regular file", "unreadable")  # a pipe would be waited for
            within = _repository(os.path.dirname(os.path.abspath(file)))
            if within and leads_out(file, within):
                raise problem(path, f"a link out of {within}", "outside",
                              "name the file itself")  # fmt: skip
        with file.open("rb") as stream:
            data = stream.read(LARGEST + 1)
    except OSError as error:
        raise problem(path, f"cannot be read: {error.strerror}", "unreadable") from None
    except ValueError:
        raise problem(path, "is no name of a file", "unreadable") from None
    if len(data) > LARGEST:
        raise problem(path, f"has more than {LARGEST} bytes", "unreadable", "is it a script?")
    return data


@cache
def _repository(folder: str) -> Path | None:
    return repository(Path(folder))


def _settings(path: str, said: Settings) -> Settings:
    """The settings for a file: what is not said comes from the pyproject.toml nearest to it."""
    folder = os.getcwd() if path == "-" else os.path.dirname(os.path.abspath(native(path)))
    told = configured(folder)
    if told.profile and not said.profile:
        _configured_profile(told.profile, told.file)
    return Settings(
        said.select or told.select, said.ignore or told.ignore, said.profile or told.profile,
        said.also or told.also,
    )  # fmt: skip


@cache
def _configured_profile(name: str, file: str) -> None:
    """Raises JobgenError if there is no such profile, where the name was said in a file.

    That may be a stranger's: what is wrong with a profile, and so what is in it, would be shown.
    """
    from jobgen.store import Profiles, is_path

    within = project(Path(file).parent)
    # No file has a zero byte in its name.
    path = os.path.abspath(os.path.expanduser(native(name.partition("\0")[0])))
    if "\0" in name or (is_path(name) and leads_out(Path(path), within)):
        text = f"{name:.80} is outside of {within}"
        raise problem(f"{file}: profile", text, "outside", "keep it in the repository")
    try:
        if is_path(name):
            Profiles(within, confined=True).load(path)
        else:
            Profiles(HERE, confined=True).load(name)
        _profile(name)
    except JobgenError as error:
        if any(each.code == "no-profile" for each in error.problems):
            mark = Mark(f"{file}: profile")
            raise JobgenError(each._replace(mark=mark) for each in error.problems) from None
        raise


@cache
def configured(folder: str) -> Settings:
    """[tool.jobgen.lint] of the pyproject.toml in a folder, or in the nearest one above it."""
    file = os.path.join(folder, "pyproject.toml")
    above = os.path.dirname(folder)
    table = _table(file) if os.path.exists(file) else None
    if table is None:
        return Settings() if above == folder else configured(above)
    for key, value in table.items():
        if key not in ("select", "ignore", "also", "profile"):
            raise problem(file, f"unknown key tool.jobgen.lint.{key}", "usage",
                          "there are select, ignore, also and profile")  # fmt: skip
        right = isinstance(value, str) if key == "profile" else isinstance(value, list)
        if not right or (isinstance(value, list) and not all(isinstance(v, str) for v in value)):
            kind = "a text" if key == "profile" else "a list of codes"
            raise problem(file, f"tool.jobgen.lint.{key} is not {kind}", "usage")
    made = Settings(
        tuple(table.get("select", ())), tuple(table.get("ignore", ())), table.get("profile"),
        tuple(table.get("also", ())), file,
    )  # fmt: skip
    if table.get("select") == []:
        raise problem(file, "tool.jobgen.lint.select names no rule", "usage",
                      "leave it out for all rules")  # fmt: skip
    for key in ("select", "ignore", "also"):
        _chosen(f"{file}: {key}", getattr(made, key))
    return made


def _table(file: str) -> dict[str, Any] | None:
    """The table of a file; None if it has none."""
    if not os.path.isfile(file):  # a pipe would be waited for
        raise problem(file, "no regular file", "unreadable")
    try:
        with open(file, "rb") as stream:
            data = stream.read(LARGEST + 1)
        text = data.decode("utf-8")
    except OSError as error:
        raise problem(file, f"cannot be read: {error.strerror}", "unreadable") from None
    except UnicodeDecodeError:
        raise problem(file, "no UTF-8 text", "unreadable") from None
    if len(data) > LARGEST:
        raise problem(file, f"has more than {LARGEST} bytes", "unreadable")
    if "jobgen" not in text:
        return None
    if leads_out(Path(file), project(Path(file).parent)):
        raise problem(file, "a link out of its repository", "outside", "keep a copy")
    if len(data) > SHORT and not _is_soon_parsed(file, text):
        raise problem(file, f"takes more than {SECONDS} s, or {MEMORY >> 30} GiB, to read",
                      "unreadable")  # fmt: skip
    told: Any = _parsed(file, text)
    for number, key in enumerate(_TABLE, 1):
        told = told.get(key)
        if told is None:
            return None
        if not isinstance(told, dict):
            raise problem(file, f"{'.'.join(_TABLE[:number])} is no table", "usage")
    return dict(told)


@cache  # every file below its folder asks
def _is_soon_parsed(file: str, text: str) -> bool:
    return _ends(_parsed, file, text)  # a key of 100,000 names takes minutes


def _parsed(file: str, text: str) -> Any:
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return toml.loads(text)
    except ValueError as error:
        raise problem(file, f"is no TOML: {error}", "unreadable") from None
    except RecursionError:
        raise problem(file, "is nested too deep", "unreadable") from None
