"""A site's own profiles: what the page lists, and what goes into it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from jobgen.errors import JobgenError, Problem, problem
from jobgen.generator import find_profiles
from jobgen.profiles.search import BASES, HEADINGS, NOT_RUN, OWN, SITES, heading_of, profile_files

NOWHERE = Path(os.devnull)  # no folder: neither profiles of a project nor of a user are seen


class Choice(NamedTuple):
    """A profile that the page offers."""

    name: str
    scheduler: str
    description: str


def site_files(folder: str | None) -> dict[str, bytes]:
    """The YAML files below a site's folder of profiles, by their paths. Raises JobgenError."""
    if folder is None:
        return {}
    top = Path(folder)
    if not top.is_dir():
        raise problem("--profiles", f"there is no folder {folder}", "missing")
    if os.pathsep in folder:
        raise problem("--profiles", f"{folder} has a {os.pathsep} in it", "usage", "rename it")
    try:
        files = {
            file.relative_to(top).as_posix(): file.read_bytes()
            for file in sorted(top.rglob("*.yaml"))
            if file.is_file()
        }
    except OSError as error:
        text = f"{error.filename} cannot be read: {error.strerror}"
        raise problem("--profiles", text, "unreadable") from None
    if not files:
        raise problem("--profiles", f"{folder} has no file *.yaml", "missing")
    return files


def choices(folder: str | None) -> dict[str, list[Choice]]:
    """The profiles that a page offers, under their headings; the site's own come first.

    Raises JobgenError with all problems of the site's profiles.
    """
    found: dict[str, list[Choice]] = {heading: [] for heading in HEADINGS if heading != BASES}
    problems: list[Problem] = []
    environ = {"JOBGEN_PROFILES": folder or ""}
    profiles = find_profiles(NOWHERE, environ=environ)
    for name, file in sorted(profile_files(NOWHERE, environ=environ).items()):
        heading = heading_of(file)
        try:
            profile = profiles.load(name).profile
        except JobgenError as error:
            problems += error.problems
            continue
        if profile.scheduler and heading in found:
            text = profile.description
            text = text.removesuffix(NOT_RUN) if heading == SITES else text
            found[heading].append(Choice(name, profile.scheduler, text))
    if problems:
        raise JobgenError(problems)
    if folder is not None and not found[OWN]:
        text = f"no profile in {folder} names a scheduler: all are bases for others"
        raise problem("--profiles", text, "no-scheduler")
    return {heading: rows for heading, rows in found.items() if rows}
