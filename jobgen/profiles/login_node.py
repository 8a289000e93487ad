"""Finds the profiles of the cluster that a login node belongs to, by their `hosts`."""

import os
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from jobgen.errors import JobgenError
from jobgen.profiles.model import Profile
from jobgen.profiles.resolve import Profiles
from jobgen.profiles.search import OWN, heading_of


def host_names(resolver: Path = Path("/etc/resolv.conf")) -> list[str]:
    """The full names that this machine may have. No name server is asked: it may not answer."""
    name = os.uname().nodename
    if "." in name:
        return [name]
    try:
        lines = resolver.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    words = [line.split() for line in lines]
    domains = [each for line in words if line[:1] in (["search"], ["domain"]) for each in line[1:]]
    return [name, *(f"{name}.{domain.strip('.')}" for domain in domains)]


def _is_login_node(profile: Profile, names: Iterable[str], environ: Mapping[str, str]) -> bool:
    """Whether one of `hosts` matches a name of a machine, or a variable there."""
    found = [*names, *(f"{name}={value}" for name, value in environ.items())]
    return any(fnmatchcase(each, pattern) for pattern in profile.hosts for each in found)


def profiles_of(names: Iterable[str], environ: Mapping[str, str], profiles: Profiles) -> list[str]:
    """The profiles of the cluster whose login node has these names and variables, sorted."""
    names, found = list(names), []
    for name in sorted(profiles.listed_files):
        try:
            profile = profiles.load(name).profile
        except JobgenError:  # whoever uses it reads the error
            continue
        is_usable = profile.scheduler and profile.state != "retired"
        if is_usable and _is_login_node(profile, names, environ):
            found.append(name)
    return found


def profiles_here(profiles: Profiles) -> list[str]:
    """The profiles to name on this machine, if it is a login node of theirs.

    If the user's own are among them, they alone: one that extends a site's is made for it.
    """
    found = profiles_of(host_names(), os.environ, profiles)
    return [name for name in found if heading_of(profiles.listed_files[name]) == OWN] or found
