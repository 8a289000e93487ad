"""The user's choice of rules, and of the profile of the scripts' cluster.

The choice comes from the command line. Settings that the command line leaves out come from the
table [tool.jobgen.lint] of the pyproject.toml nearest to a script, which may be untrusted.
"""

import os
import re
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from jobgen.bounds import LINT_TRUSTED_BYTES
from jobgen.errors import JobgenError, Mark, problem
from jobgen.lint.files import out_of_bounds, read_bounded, unreadable
from jobgen.lint.options import read_versions
from jobgen.lint.rules import Check, checks, off_by_default
from jobgen.paths import (
    WORKING_FOLDER,
    is_highest,
    is_outside,
    project_folder,
    repository_or_folder,
    to_path,
)
from jobgen.profiles.model import Profile
from jobgen.untrusted_input import ends_within_bounds

_TABLE = ("tool", "jobgen", "lint")
_LISTS = ("select", "ignore", "also", "for")


@dataclass(frozen=True)
class Settings:
    """The options of the command line, or the values of a configuration.

    `select`, `ignore` and `also` have codes, or beginnings of codes; `versions` has texts such as
    slurm=23.11.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    profile: str | None = None
    also: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()  # `for` in a configuration
    file: str = ""  # the configuration, if the settings come from a file


@cache
def chosen_checks(settings: Settings) -> dict[str, Check]:
    """The checks of the chosen rules, by their codes, sorted."""
    selected = codes_of("select", settings.select)
    ignored = codes_of("ignore", settings.ignore)
    also = codes_of("also", settings.also)
    return {
        code: check
        for code, check in checks().items()
        if code not in ignored
        and (code in selected | also or not (settings.select or check in off_by_default))
    }


def check(settings: Settings) -> None:
    """Raise JobgenError if the settings of the command line are wrong."""
    for option in ("select", "ignore", "also"):
        codes_of(f"--{option}", getattr(settings, option))
    read_versions("--for", settings.versions)
    if settings.profile:
        load_profile(settings.profile)


def codes_of(place: str, beginnings: Iterable[str]) -> set[str]:
    """The codes that begin with one of `beginnings`, which may be separated by commas.

    Raises JobgenError for a beginning that no code has; `place` is the option or key to blame.
    """
    codes: set[str] = set()
    for text in (part.strip().upper() for each in beginnings for part in each.split(",")):
        found = {code for code in checks() if text and code.startswith(text)}
        if not found:
            raise problem(place, f"there is no rule {text!r:.30}", "usage", code_hint(text))
        codes |= found
    return codes


def code_hint(text: str) -> str:
    """What to type instead of a code that no rule has: a code of like digits is another rule."""
    found = re.search(r"\d{3}", text)
    code = f"JG{found[0]}" if found else ""
    return f"did you mean {code}?" if code in checks() else "see `jobgen rules`"


@cache
def load_profile(name: str) -> Profile:
    """A profile, by its name or path. Raises JobgenError if it cannot be loaded."""
    from jobgen.generator import find_profiles  # slow to import

    return find_profiles().load(name).profile


def settings_for(path: str, settings: Settings) -> Settings:
    """The settings for a file: its configuration supplies what the command line leaves out.

    Raises JobgenError for a configuration that is wrong.
    """
    folder = os.getcwd() if path == "-" else os.path.dirname(os.path.abspath(to_path(path)))
    configured = configured_settings(folder)
    if configured.profile and not settings.profile:
        _check_profile(configured.profile, configured.file)
    return Settings(
        settings.select or configured.select,
        settings.ignore or configured.ignore,
        settings.profile or configured.profile,
        settings.also or configured.also,
        settings.versions or configured.versions,
    )


@cache
def configured_settings(folder: str) -> Settings:
    """The configuration for an absolute folder: its own, or that of the nearest folder above."""
    file, above = os.path.join(folder, "pyproject.toml"), os.path.dirname(folder)
    table = _table(file) if os.path.exists(file) else None
    if table is None:
        return Settings() if is_highest(Path(folder)) else configured_settings(above)
    for key, value in table.items():
        _check_type(file, key, value)
    if table.get("select") == []:
        text = "tool.jobgen.lint.select names no rule"
        raise problem(file, text, "usage", "leave it out to search for all rules")
    lists = {key: tuple(table.get(key, ())) for key in _LISTS}
    versions = lists.pop("for")
    read_versions(f"{file}: for", versions)
    for key, beginnings in lists.items():
        codes_of(f"{file}: {key}", beginnings)
    return Settings(**lists, versions=versions, profile=table.get("profile"), file=file)


def _check_type(file: str, key: str, value: Any) -> None:
    if key not in (*_LISTS, "profile"):
        hint = "the keys are select, ignore, also, for and profile"
        raise problem(file, f"unknown key tool.jobgen.lint.{key}", "usage", hint)
    if key == "profile" and not isinstance(value, str):
        raise problem(file, "tool.jobgen.lint.profile must be a string", "usage")
    is_list = isinstance(value, list) and all(isinstance(item, str) for item in value)
    if key != "profile" and not is_list:
        items = "versions such as slurm=23.11" if key == "for" else "codes"
        raise problem(file, f"tool.jobgen.lint.{key} is not a list of {items}", "usage")


def _table(file: str) -> dict[str, Any] | None:
    """The table [tool.jobgen.lint] of a file; None if the file does not have this table."""
    try:
        text = read_bounded(file, file).decode("utf-8")
    except UnicodeDecodeError:
        raise unreadable(file, "it is not UTF-8") from None
    if "jobgen" not in text:
        return None
    if is_outside(Path(file), repository_or_folder(Path(file).parent)):
        raise problem(file, "a link out of its repository", "outside", "keep a copy")
    if len(text.encode()) > LINT_TRUSTED_BYTES and not _is_parsable(file, text):
        raise out_of_bounds(file)
    table: Any = _parsed(file, text)
    for number, key in enumerate(_TABLE, 1):
        table = table.get(key)
        if table is None:
            return None
        if not isinstance(table, dict):
            raise problem(file, f"{'.'.join(_TABLE[:number])} is not a table", "usage")
    return dict(table)


@cache  # needed for every file below its folder; a key of 100,000 names takes minutes
def _is_parsable(file: str, text: str) -> bool:
    return ends_within_bounds(_parsed, file, text)


def _parsed(file: str, text: str) -> Any:
    toml = import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    try:
        return toml.loads(text)
    except ValueError as error:
        raise unreadable(file, f"it is not valid TOML: {error}") from None
    except RecursionError:
        raise unreadable(file, "it is nested too deep") from None


@cache
def _check_profile(name: str, file: str) -> None:
    """Raise JobgenError if a configuration must not use a profile, or there is no such profile.

    The configuration may be untrusted, and messages about a profile quote it.
    """
    from jobgen.generator import find_profiles  # only a few users name a profile
    from jobgen.profiles.search import is_profile_path

    within = repository_or_folder(Path(file).parent)
    # No file has a zero byte in its name.
    path = os.path.abspath(os.path.expanduser(to_path(name.partition("\0")[0])))
    is_path = is_profile_path(name)
    if "\0" in name or (is_path and is_outside(Path(path), within)):
        text = f"{name:.80} is outside {within}"
        raise problem(f"{file}: profile", text, "outside", "keep it in the repository")
    try:
        folder = within if is_path else project_folder(WORKING_FOLDER)
        profiles = find_profiles(folder, confined=True)
        profiles.load(path if is_path else name)  # refuses values from outside `folder`
        load_profile(name)
    except JobgenError as error:
        if any(each.code == "no-profile" for each in error.problems):
            mark = Mark(f"{file}: profile")
            raise JobgenError(each._replace(mark=mark) for each in error.problems) from None
        raise
