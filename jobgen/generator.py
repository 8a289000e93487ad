"""Job to script: finds the profile, makes the plan, renders the template.

A Generator reads a profile or a template once, so that many scripts cost little more than their
rendering.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from jobgen.errors import Problem, excess_text, problem
from jobgen.paths import WORKING_FOLDER, repository_or_folder
from jobgen.planner import make_plan
from jobgen.planner.advice import job_advice
from jobgen.planning.command_line import overrides
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Plan
from jobgen.profiles.resolve import Profiles, Resolved
from jobgen.schedulers import COMMANDS, profile_conflicts

if TYPE_CHECKING:
    from jobgen.scripts.render import Templates


def find_profiles(
    within: Path = WORKING_FOLDER,
    confined: bool = False,
    environ: Mapping[str, str] | None = None,
) -> Profiles:
    """The profiles visible from the folder `within`, checked for their schedulers, too."""
    return Profiles(within, confined, (profile_conflicts,), environ)


class Generator:
    """Makes scripts as if jobgen ran in the folder `within`.

    With `confined`, a command may name no file outside that folder: the command may be untrusted,
    and messages would quote the file. With `environ`, its variables are read instead of those of
    the process; nothing is reported, and no cache is written.
    """

    def __init__(
        self,
        within: Path = WORKING_FOLDER,
        confined: bool = False,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        self.within = within
        self.confined = confined
        self.environ = environ
        self.profiles = find_profiles(within, confined, environ)
        self._templates: Templates | None = None

    def command(self, profile: str) -> str:
        """The command that makes scripts for a profile's scheduler. Raises JobgenError."""
        return COMMANDS[self.profiles.load(profile).profile.scheduler or "local"]

    def plan(self, job: Job, hosts: tuple[str, ...] = ()) -> Plan:
        """The plan for a job, and for `byhand` on its hosts.

        Raises JobgenError for what cannot be planned.
        """
        if job.profile is None and job.command != "local":
            raise problem("--profile", "no profile is named", "usage", "see `jobgen profiles list`")
        return make_plan(job, self._profile(job, len(hosts)), hosts)

    def advice(self, job: Job, plan: Plan, host_count: int = 0) -> list[Problem]:
        """Warnings about a job whose plan was made."""
        return job_advice(job, plan, self._profile(job, host_count))

    def _profile(self, job: Job, host_count: int) -> Resolved:
        name = "local" if job.profile is None else job.profile
        return self.profiles.load(name, overrides(job, host_count))

    def render(self, plan: Plan, template: str | None) -> str:
        """The script for a plan. Raises JobgenError for what is wrong with the template."""
        return self._loaded_templates().render(plan, template)

    def _loaded_templates(self) -> Templates:
        if self._templates is None:
            from jobgen.scripts.render import Templates  # Jinja takes a while to import

            self._templates = Templates(self.within, self.confined, self.environ)
        return self._templates

    def script(self, job: Job) -> str:
        """The script for a job; see `script_bytes`."""
        return self.script_bytes(job).decode("utf-8")

    def script_bytes(self, job: Job, manifest: str = "") -> bytes:
        """The script for a job. Raises JobgenError as `plan` and `render` do.

        A job that takes more memory or depth than Python has is an error of this job alone.
        """
        try:
            plan = self.plan(job, self.hosts(job))
            return self._loaded_templates().render_bytes(plan, job.template, manifest)
        except (MemoryError, RecursionError) as error:
            raise problem(f"jobgen {job.command}", excess_text(error), "limit") from None

    def hosts(self, job: Job) -> tuple[str, ...]:
        """The hosts of a job by hand; none for another one. Raises JobgenError."""
        from jobgen.planning.host_list import read_hosts

        if job.command != "byhand":
            return ()
        if job.hosts is None:
            raise problem("--hosts", "no hosts are named", "usage", "such as smc-r07-[07-08]")
        return read_hosts(job.hosts, self.within, self.confined)


class Generators:
    """The generator for each script, by the repository that the script is in."""

    def __init__(self) -> None:
        self._by_folder: dict[Path, Generator] = {}  # by the folders as they are named, too

    def of(self, script: Path) -> Generator:
        """The generator for a script's repository or, without one, its folder."""
        folder = script.parent
        if folder not in self._by_folder:
            within = repository_or_folder(Path(os.path.abspath(folder)))
            generator = self._by_folder.get(within) or Generator(_shortest(within), confined=True)
            self._by_folder[within] = self._by_folder[folder] = generator
        return self._by_folder[folder]


def _shortest(folder: Path) -> Path:
    """The folder from here, if that is shorter: messages show it."""
    return min(folder, Path(os.path.relpath(folder)), key=lambda path: len(str(path)))
