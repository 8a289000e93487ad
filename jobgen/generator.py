"""Makes a script of a Job: finds the profile, makes the plan, renders the template.

A Generator reads a profile or a template once, so that many scripts cost little more than their
rendering.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from jobgen.code_store.copies import CodeCopies
from jobgen.errors import JobgenError, Problem, excess_text, problem
from jobgen.paths import (
    WORKING_FOLDER,
    is_outside,
    repository_or_folder,
    shortest,
    trusted_folders,
)
from jobgen.planner.advice import job_advice
from jobgen.planner.assembly import make_plan
from jobgen.planning.host_list import NO_HOSTS, Hosts, read_hosts
from jobgen.planning.job_options import Job, job_options
from jobgen.planning.plan import Plan
from jobgen.profiles.kinds import ProblemList
from jobgen.profiles.model import Profile
from jobgen.profiles.resolve import Profiles, Resolved
from jobgen.profiles.yaml_tree import Map
from jobgen.schedulers import COMMANDS, profile_conflicts
from jobgen.scripts.render import Templates

LATER_PROBLEMS = 3  # rounds; each follows the hints of the problems before it
_OF_ONE_VALUE = ("unknown-key", "type", "value", "range")


def find_profiles(
    within: Path = WORKING_FOLDER, confined: bool = False, environ: Mapping[str, str] | None = None
) -> Profiles:
    """Returns the profiles visible from the folder `within`, with their schedulers' checks."""
    return Profiles(within, confined, (profile_conflicts,), environ)


class Generator:
    """Makes scripts as if jobgen ran in the folder `within`.

    Profiles and templates are found by name in that folder or, without `confined` and `environ`, in
    the folder's repository.
    With `confined`, a command may name no file outside the folder: the command may be untrusted,
    and messages would quote the file. The folder's templates are then rendered only if it is
    `trusted`. With `environ`, its variables are read instead of the process's variables; nothing is
    reported, and no cache is written.
    """

    def __init__(
        self,
        within: Path = WORKING_FOLDER,
        confined: bool = False,
        environ: Mapping[str, str] | None = None,
        trusted: bool = False,
    ) -> None:
        self.profiles = find_profiles(within, confined, environ)
        self._templates = Templates(self.profiles, trusted)
        self.codes = CodeCopies(within, confined, environ)
        self._environments: dict[object, tuple[Profile, str]] = {}  # names, by what decides them

    def command(self, profile: str, changes: Iterable[tuple[str, str, str]] = ()) -> str:
        """Returns the command that makes scripts for a profile's scheduler. Raises JobgenError.

        `changes` are the changes by options, as `overrides` yields them.
        """
        return COMMANDS[self.profiles.load(profile, changes).profile.scheduler or "local"]

    def plan(self, job: Job) -> Plan:
        """Returns the plan for a job. Raises JobgenError if the job cannot be planned."""
        hosts = self._hosts(job)
        if job.profile is None and job.command != "local":
            raise no_profile()
        try:
            resolved = self._profile(job, len(hosts.names))
        except JobgenError as error:
            raise JobgenError([*error.problems, *self.later_problems(job, error)]) from None
        resolved = self._with_environment(resolved)
        code = self.codes.read(job, resolved.profile)
        plan = make_plan(job, resolved, hosts, code.name if code else None)
        return code.placed(plan, self.profiles.within) if code else plan

    def _with_environment(self, resolved: Resolved) -> Resolved:
        """The profile with the environment of its lock, if it has one. Raises JobgenError."""
        profile = resolved.profile
        if profile.software.lock is None:
            return resolved
        from jobgen.environment.lock import read_lock, with_environment  # few jobs have some

        key = (profile.software, profile.node.arch, profile.request.chdir)
        if key not in self._environments:
            within, confined = self.profiles.within, self.profiles.confined
            self._environments[key] = (profile, read_lock(resolved, within, confined).name)
        return with_environment(resolved, self._environments[key][1])

    def keep_codes(self) -> list[str]:
        """Make the copies of the code of all jobs that were planned; says what was copied.

        Their environments count as used now, so that `jobgen store remove` leaves them.
        Raises JobgenError.
        """
        made = self.codes.keep()
        for profile, name in self._environments.values():
            from jobgen.code_store.store import note_of, store_of

            with suppress(JobgenError, OSError):  # it is not made yet, or not here
                store = store_of(profile, self.profiles.within, self.profiles.environ)
                os.utime(note_of(store / "environments" / name))
        return made

    def later_problems(self, job: Job, error: JobgenError) -> list[Problem]:
        """Returns the problems that remain in a job's profile if an error's hints are followed."""
        from jobgen.profiles.mistakes.lines import followed

        name = str(job.profile)
        files = {each.mark.file for each in error.problems if each.mark.line}
        tree = self.profiles.read(Path(file), ProblemList()) if (file := "".join(files)) else None
        if len(files) != 1 or not isinstance(tree, Map) or Path(file).stem != Path(name).stem:
            return []
        problems, found = error.problems, list[Problem]()
        for _ in range(LATER_PROBLEMS):
            seen = self.profiles
            profiles = find_profiles(seen.within, seen.confined, seen.environ)
            profiles.add(file, tree := followed(tree, problems))
            scheduler = getattr(tree.items.get("scheduler"), "text", "")
            try:
                of_scheduler = job._replace(command=job.command or COMMANDS.get(scheduler, ""))
                make_plan(of_scheduler, profiles.load(file, overrides(of_scheduler)))
            except JobgenError as later:
                problems = [each for each in later.problems if each not in error.problems + found]
                found += [each for each in problems if each.code not in _OF_ONE_VALUE]
            else:
                break
        return found

    def advice(self, job: Job, plan: Plan) -> list[Problem]:
        """Returns the warnings about a job, whose plan exists already."""
        resolved = self._profile(job, len(plan.hosts))
        code = self.codes.read(job, resolved.profile)
        of_code = code.advice(job, plan, self.profiles.within) if code else ()
        return [*job_advice(job, plan, resolved), *of_code]

    def _profile(self, job: Job, host_count: int) -> Resolved:
        name = "local" if job.profile is None else job.profile
        return self.profiles.load(name, overrides(job, host_count))

    def render(self, plan: Plan, template: str | None) -> str:
        """Returns the script for a plan. Raises JobgenError for an error in the template."""
        return self._templates.render(plan, template).decode("utf-8")

    def script(self, job: Job) -> str:
        """The script for a job, whose copy of the code is kept; see `script_bytes`."""
        text = self.script_bytes(job).decode("utf-8")
        self.keep_codes()
        return text

    def script_bytes(self, job: Job, manifest: str = "") -> bytes:
        """The script for a job. Raises JobgenError as `plan` and `render` do.

        If a job needs more memory or depth than Python has, that is an error of this job alone.
        """
        try:
            return self._templates.render(self.plan(job), job.template, manifest)
        except (MemoryError, RecursionError) as error:
            raise problem(f"jobgen {job.command}", excess_text(error), "limit") from None

    def _hosts(self, job: Job) -> Hosts:
        """Returns the hosts of a job by hand, or NO_HOSTS. Raises JobgenError for wrong hosts."""
        if job.command != "byhand":
            return NO_HOSTS
        if job.hosts is None:
            raise problem("--hosts", "no hosts are named", "usage", "such as smc-r07-[07-08]")
        return read_hosts(job.hosts, self.profiles.within, self.profiles.confined)


def overrides(job: Job, host_count: int = 0) -> Iterator[tuple[str, str, str]]:
    """Yields what the options change in the profile: (option, path, value), the strongest last.

    `host_count` is the number of hosts in --hosts, or 0 without it. Raises JobgenError for options
    that exclude each other.
    """
    for text in job.set_values:
        path, equals, value = text.partition("=")
        if path != path.rstrip():  # blanks around the =
            path, value = path.strip(), value.strip()
        if not equals or not path:
            from jobgen.planning.key_words import option_words  # only a mistake needs it

            name, _, value = text.replace(":", " ").strip("= ").partition(" ")
            words = option_words(name.rpartition(".")[2], job.command, value.strip())
            hint = f"write {words}" if words else "such as network.interface=hsn0"
            if not words and re.fullmatch(r"\w+(\.\w+)+", text):
                hint = f"write --set {text}=VALUE"
            raise problem("--set", f"{text!r:.80} is not PATH=VALUE", "usage", hint)
        yield f"--set {path:.80}", path, value
    _check_conflicts(job)
    for name, row in job_options(job.command):
        value = getattr(job, name)
        if row.path == "request.nodes" and (found := re.search("[:+]", value or "")):
            first, mark, second = value.partition(found[0])
            if not (first and second):
                example = "2:4" if mark == ":" else "16+2"
                text = f"a number is missing at the {mark}"
                raise problem(row.flags[0], text, "value", f"as in {example}")
            value, other = (second, first) if mark == ":" else (first, second)
            yield row.flags[0], f"request.{'min_nodes' if mark == ':' else 'spares'}", other
        if row.path and value is not None:
            yield row.flags[0], row.path, value
    if host_count:
        yield "--hosts", "request.nodes", str(host_count)


def _check_conflicts(job: Job) -> None:
    if job.queue and job.reservation:
        hint = "a reservation of PBS is a queue: give one of the two"
        raise problem("--reservation", "-q names another queue", "conflict", hint)
    if job.exclusive and job.shared:
        raise problem("--shared", "--exclusive is given, too", "conflict", "give one of the two")


class Generators:
    """The generator for each script, by the repository that the script is in.

    A repository's templates are rendered if the user trusts its folder, or always with `trust`.
    """

    def __init__(self, trust: bool = False) -> None:
        self._trusted = [Path("/")] if trust else trusted_folders()
        self._by_folder: dict[Path, Generator] = {}

    def of(self, script: Path) -> Generator:
        """The generator for a script's repository or, without one, its folder."""
        within = repository_or_folder(Path(os.path.abspath(script.parent)))
        if within not in self._by_folder:
            trusted = any(not is_outside(within, each) for each in self._trusted)
            generator = Generator(shortest(within), confined=True, trusted=trusted)
            self._by_folder[within] = generator
        return self._by_folder[within]

    def keep_codes(self) -> list[str]:
        """Make the copies of all code that these generators have read, as `keep_codes` of one."""
        return [text for each in self._by_folder.values() for text in each.keep_codes()]


def no_profile() -> JobgenError:
    """Returns the error for a job without a profile."""
    hint = "one of `jobgen profiles list`; `jobgen detect` writes one for the cluster here"
    return problem("--profile", "no profile is named", "usage", hint)
