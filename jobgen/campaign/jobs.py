"""The jobs of a manifest, as far as it matters for their submission; those that --only names."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from jobgen.campaign.forms import Form, code_changes, form_of
from jobgen.code_store.copies import CodeCopies
from jobgen.errors import nearest_hint, problem, report
from jobgen.generator import Generator
from jobgen.keeper.carried import named_files
from jobgen.planning.option_row import BATCH
from jobgen.planning.plan import Plan
from jobgen.quoting import quote, split_words
from jobgen.remote.files import logs_here
from jobgen.remote.job import logs_of
from jobgen.remote.place import login_of, place_there
from jobgen.repository.matrix import Script
from jobgen.runs.records import Record
from jobgen.submission.login import Login
from jobgen.submission.machine import HERE, Here, Machine
from jobgen.submission.submit import log_folder

# The own dependency of a script: in quotes where the scheduler needs them.
_DEPENDENCY = {
    "slurm": r"#SBATCH --dependency=(.*)",
    "pbs": r"#PBS -W .*?depend=(\w+:[^,\"']+(?:,\w+:[^,\"']+)*).*",
}


@dataclass(frozen=True)
class Job:
    """A job of a manifest whose script the scheduler can take."""

    path: Path  # of its script
    names: tuple[str, ...]  # its own name, its file's stem, and the key of its entry
    scheduler: str
    form: Form  # of its script
    logs: Path  # the folder of its records
    dependency: str = ""  # what its script itself waits for
    chdir: str = ""  # may have $NAME
    array: str = ""
    is_chain: bool = False
    keeps_record: bool = True  # the plain script keeps none
    machine: Machine = HERE  # which has the commands of the scheduler
    logs_there: str = ""  # the folder of its records on another machine

    @property
    def name(self) -> str:
        return self.names[0]

    @property
    def place_there(self) -> str:
        """The folder of its records on another machine, which was reached; "" on this one."""
        machine = self.machine
        return place_there(machine, self.logs_there) if isinstance(machine, Login) else ""

    def copy_of(self, form: Form) -> Path:
        """The copy of its script in a form, if one was kept for a submission."""
        return self.logs / "scripts" / f"{form.digest}.sh"


class Needs(NamedTuple):
    """What a job needs, on its host, too."""

    plan: Plan
    codes: CodeCopies
    keepers: frozenset[str]  # files beside the manifest


class JobList:
    """The jobs of a manifest, and what they need."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._jobs: dict[tuple[Machine, object], Job] = {}
        self.needs: dict[Path, Needs] = {}  # by the script

    @property
    def jobs(self) -> list[Job]:
        """In the manifest's order."""
        return list(self._jobs.values())

    def add(self, script: Script, plan: Plan, data: bytes, generator: Generator) -> None:
        """Add the job of a script that was made. Raises JobgenError if another one is the same."""
        job = make_job(script, plan, data, self.folder)
        if job is None:
            report(f"{script.path}: not submitted: it is for no scheduler's queue")
        elif other := self._jobs.get((job.machine, job.form.request)):
            text = f"{job.path} does the same as {other.path}: they are one job"
            hint = "leave out `name`, or use in the program what differs"
            raise problem(script.tree.mark, text, "collision", hint)
        else:
            self._jobs[job.machine, job.form.request] = job
            self.needs[job.path] = Needs(plan, generator.codes, named_files(data))

    def code_changes(self, job: Job, record: Record) -> str:
        """The files of a job's code that have changed since an earlier one; "" if nobody knows."""
        plan, codes, _ = self.needs[job.path]
        workspace = plan.software.workspace
        commit = workspace and workspace.commit
        new = [code.listing for *_, code in codes.codes if code.name == commit]
        return code_changes(record, new[0], self.folder / ".jobgen/store") if new else ""


def make_job(script: Script, plan: Plan, data: bytes, folder: Path) -> Job | None:
    """The job of a script that was made; None for a script that is not for a scheduler's queue.

    `folder` is the manifest's, in which jobs are submitted. Raises JobgenError for a script that
    cannot be submitted with others.
    """
    if plan.command[1] not in BATCH:
        return None
    if any(each.startswith("#SBATCH --clusters=") for each in plan.directives):
        hint = "set SLURM_CLUSTERS=NAME where you submit, for all commands of Slurm"
        raise problem(script.tree.mark, "--clusters is in its script", "conflict", hint)
    request = plan.request
    machine: Machine
    if script.host:
        machine = login_of(script.host, folder)
        logs = folder / logs_here(machine, logs_of(plan))
    else:
        machine, logs = Here(str(folder)), log_folder(plan, folder)
    return Job(
        path=script.path,
        names=(plan.name, script.stem, script.key),
        scheduler=plan.scheduler,
        form=form_of(data),
        logs=logs,
        dependency=_own_dependency(script, plan),
        chdir=request.chdir or "",
        array=request.array or "",
        is_chain=bool(plan.launch.chain),
        keeps_record=not plan.launch.plain,
        machine=machine,
        logs_there=logs_of(plan) if script.host else "",
    )


def _own_dependency(script: Script, plan: Plan) -> str:
    found = (re.fullmatch(_DEPENDENCY[plan.scheduler], each) for each in plan.directives)
    value = next(("".join(split_words(each[1])) for each in found if each), "")
    if "?" in value:
        text = f"its dependency {value} is on one job or another: --at-once could not add to it"
        raise problem(script.tree.mark, text, "conflict", "a comma, which means all of them")
    return value


def chosen(jobs: Sequence[Job], only: Iterable[str]) -> list[Job]:
    """The jobs that one of the names or patterns names; all without any. Raises JobgenError."""
    wanted = list(only)
    for text in wanted:
        if not any(_is_named(job, text) for job in jobs):
            names = [name for job in jobs for name in job.names]
            raise problem(
                f"--only {quote(text)}", "no job has this name", "name", nearest_hint(text, names)
            )
    return [job for job in jobs if not wanted or any(_is_named(job, text) for text in wanted)]


def _is_named(job: Job, text: str) -> bool:
    return any(fnmatchcase(name, text) for name in (*job.names, str(job.path)))
