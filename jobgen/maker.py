"""Makes scripts: from a job, by its profile, a plan and a template.

A maker works as if jobgen ran in its folder. It reads a profile or a template once, so that many
scripts cost little more than their rendering.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from jobgen.errors import excess, problem
from jobgen.job import Job, layers
from jobgen.paths import HERE, leads_out, native
from jobgen.plan import Plan, plan
from jobgen.schedulers import COMMANDS
from jobgen.store import Profiles

if TYPE_CHECKING:
    from jobgen.render import Templates

# What shows that scripts are made in a folder; the nearest one above a script counts.
PROJECT = (".git", "jobgen.yaml", "profiles/*.yaml", "templates/*.j2")


class Maker:
    """Makes scripts as a jobgen that runs in the folder `within` does.

    With `confined`, a command names no file outside that folder: it may be a stranger's, and what
    is in the file would be shown.
    """

    def __init__(self, within: Path = HERE, confined: bool = False) -> None:
        self.within = within
        self.confined = confined
        self.profiles = Profiles(within, confined)
        self._inside: dict[tuple[str, bool], bool] = {}
        self._templates: Templates | None = None

    def command(self, profile: str) -> str:
        """The command that makes a job of a profile's scheduler. Raises JobgenError."""
        self._confine(Job("", profile=profile))
        return COMMANDS[self.profiles.load(profile).profile.scheduler or "local"]

    def plan(self, job: Job) -> Plan:
        """The plan for a job. Raises JobgenError for what cannot be planned."""
        if job.profile is None and job.command != "local":
            raise problem("--profile", "no profile is named", "usage", "see `jobgen profiles list`")
        self._confine(job)
        hosts: tuple[str, ...] = ()
        if job.command == "byhand":
            hosts = self._hosts(job)
        name = "local" if job.profile is None else job.profile
        return plan(job, self.profiles.load(name, layers(job, len(hosts))), hosts)

    def render(self, planned: Plan, template: str | None, manifest: str = "") -> str:
        """The script for a plan. Raises JobgenError for what is wrong with the template."""
        if self._templates is None:
            from jobgen.render import Templates  # Jinja takes a while to import

            self._templates = Templates(self.within, self.confined)
        return self._templates.render(planned, template, manifest)

    def script(self, job: Job, manifest: str = "") -> str:
        """The script for a job. Raises JobgenError as `plan` and `render` do; of many jobs, one
        that takes more than Python has does not keep the others from being made.
        """
        try:
            return self.render(self.plan(job), job.template, manifest)
        except (MemoryError, RecursionError) as error:
            raise problem(f"jobgen {job.command}", excess(error), "limit") from None

    def _hosts(self, job: Job) -> tuple[str, ...]:
        from jobgen import byhand

        if job.hosts is None:
            raise problem("--hosts", "no hosts are named", "usage", "such as smc-r07-[07-08]")
        return byhand.hosts(job.hosts, self.within)

    def _confine(self, job: Job) -> None:
        said = (("--profile", job.profile), ("--template", job.template), ("--hosts", job.hosts))
        for option, name in said:
            home = option == "--profile"  # where it is opened, ~ is a folder's name in the others
            if self.confined and name and not self._is_inside(name, home):
                text = f"{name:.80} is outside of {self.within}"
                hint = "keep it in the script's repository, or name a profile of the user's"
                raise problem(option, text, "outside", hint)

    def _is_inside(self, name: str, home: bool) -> bool:
        if "\0" in name:
            return False  # no file is called so
        key = name, home
        if key not in self._inside:
            # A name, or a list of hosts, is inside as a path, too.
            path = Path(os.path.expanduser(native(name))) if home else native(name)
            self._inside[key] = not leads_out(self.within / path, self.within)
        return self._inside[key]


class Makers:
    """The maker for each script, by the repository that it is in."""

    def __init__(self) -> None:
        self._of_folders: dict[Path, Maker] = {}  # by the folders as they are named, too

    def of(self, script: Path) -> Maker:
        """The maker in the nearest folder above the script that PROJECT tells; else in its own."""
        folder = script.parent
        if folder not in self._of_folders:
            within = project(Path(os.path.abspath(folder)))
            known = self._of_folders.get(within) or Maker(_shown(within), confined=True)
            self._of_folders[within] = self._of_folders[folder] = known
        return self._of_folders[folder]


def project(folder: Path) -> Path:
    """The repository of a folder, an absolute one; else the folder itself."""
    return repository(folder) or folder


def repository(folder: Path) -> Path | None:
    """The nearest folder, from an absolute one upwards, that PROJECT tells, if any.

    What tells it belongs to the user, to root or to the folder's owner: profiles and templates
    that anyone can put into /tmp are not those of a repository below it.
    """
    trusted = {os.geteuid(), 0, _owner(folder)}
    return next(
        (
            each
            for each in (folder, *folder.parents)
            if any(_owner(found) in trusted for pattern in PROJECT for found in each.glob(pattern))
        ),
        None,
    )


def _owner(path: Path) -> int | None:
    try:
        return path.lstat().st_uid
    except OSError:
        return None


def _shown(folder: Path) -> Path:
    """The folder from here, if that is shorter: it is in messages."""
    return min(folder, Path(os.path.relpath(folder)), key=lambda path: len(str(path)))
