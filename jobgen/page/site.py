"""A site's own profiles: checks and copies them for the page, and lists the page's profiles."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from jobgen.errors import JobgenError, Problem, problem
from jobgen.generator import find_profiles
from jobgen.profiles.model import Profile
from jobgen.profiles.search import (
    HEADINGS,
    MACHINES,
    OWN,
    SITES,
    heading_of,
    is_profile_path,
    profile_files,
)


class Choice(NamedTuple):
    """A profile that the page offers; `title` is the cluster's name, `gpus` the GPUs of a node."""

    name: str
    scheduler: str
    title: str
    description: str
    gpus: int


def choice_of(name: str, profile: Profile) -> Choice:
    """The choice for a profile; the title is the description's start before `, DIGIT`, if any."""
    text = profile.description
    title, *rest = re.split(r", (?=\d)", text, maxsplit=1)
    if not rest:
        title, rest = name, [text]
    return Choice(name, profile.scheduler or "", title, rest[0], profile.node.gpus)


def site_files(folder: str | None) -> dict[str, bytes]:
    """The YAML files in a site's folder of profiles, by path. Raises JobgenError."""
    if folder is None:
        return {}
    top = Path(folder)
    if not top.is_dir():
        raise problem("--profiles", f"there is no folder {folder}", "missing")
    try:
        files = {
            file.relative_to(top).as_posix(): file.read_bytes()
            for file in sorted(top.rglob("*"))
            if is_profile_path(file.name) and file.is_file()
        }
    except OSError as error:
        text = f"{error.filename} cannot be read: {error.strerror}"
        raise problem("--profiles", text, "unreadable") from None
    if not files:
        raise problem("--profiles", f"{folder} has no file *.yaml", "missing")
    if wrong := next((name for name in files if not is_utf8(name)), None):
        raise problem("--profiles", f"the name of {wrong} is not UTF-8", "value", "rename it")
    return files


def is_utf8(text: str) -> bool:
    """Whether a text from a command line or a file name can be encoded as UTF-8."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def profile_choices(files: Mapping[str, bytes], folder: str | None) -> dict[str, list[Choice]]:
    """The profiles that a page offers, under their headings; the site's own profiles come first.

    `files` are from `site_files`, and messages call their folder `folder`. The check reads a copy,
    since the page has only these files, and a profile could extend a file that the page lacks.
    Raises JobgenError with all problems of the site's profiles.
    """
    with TemporaryDirectory(prefix="jobgen-") as temporary:
        top = Path(os.path.realpath(temporary), "site")
        for name, data in files.items():
            file = top / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(data)
        found = _choices(top, str(Path(folder or "")))
    if folder is not None and not found[OWN]:
        text = f"no profile in {folder} names a scheduler: all are bases for others"
        raise problem("--profiles", text, "no-scheduler")
    return {heading: rows for heading, rows in found.items() if rows}


def _choices(top: Path, folder: str) -> dict[str, list[Choice]]:
    found: dict[str, list[Choice]] = {each: [] for each in (OWN, SITES, MACHINES, *HEADINGS)}
    problems: list[Problem] = []
    above = top.parent  # a folder without profiles of a project or a user
    environ = {"JOBGEN_PROFILES": str(top)}
    profiles = find_profiles(above, confined=True, environ=environ)
    files = profile_files(above, environ=environ)
    for path in top.rglob("*.yml"):  # these have no names, but other profiles may extend them
        files[str(path)] = path
    for name, file in sorted(files.items()):
        heading = heading_of(file)
        try:
            profile = profiles.load(name).profile
        except JobgenError as error:
            problems += (_in_place(each, top, folder) for each in error.problems)
            continue
        if profile.scheduler and profile.state != "retired" and name != str(file):
            found[heading].append(choice_of(name, profile))
    if problems:
        raise JobgenError(problems)
    return found


def _in_place(each: Problem, top: Path, folder: str) -> Problem:
    """A problem in the copy, with the paths of the site's own folder."""

    def placed(text: str) -> str:
        return text.replace(str(top), folder).replace(str(top.parent), folder)

    hint = placed(each.hint)
    if each.code in ("no-profile", "outside") and hint in ("", "keep a copy"):
        hint = f"the page has no other files than those below {folder}"
    mark = each.mark._replace(file=placed(each.mark.file))
    return each._replace(mark=mark, text=placed(each.text), hint=hint)
