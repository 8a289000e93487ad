"""Submits the jobs of a multirun, each with a script of its own, or all of them as one array."""

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hydra.core.utils import JobReturn, JobStatus, filter_overrides
from hydra.errors import CompactHydraException
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, open_dict

from hydra_plugins.jobgen_launcher.command_line import errors_of_users, options_of, words_of_job
from hydra_plugins.jobgen_launcher.objective import FILE, read_objective
from jobgen.errors import JobgenError, problem

if TYPE_CHECKING:
    import jobgen

log = logging.getLogger(__name__)

_BASIC = "hydra._internal.core_plugins.basic_sweeper.BasicSweeper"
# Each job of an array becomes its own command.
_JOBS = '''\
"""Starts a job of this sweep, by its number; below are the arguments of each."""

import os
import sys

JOBS = {{
{lines}
}}
os.execv(sys.executable, [sys.executable, *JOBS[int(sys.argv[1])]])
'''


class _Job(NamedTuple):
    """A job of the sweep."""

    number: int
    folder: Path
    overrides: Sequence[str]
    config: DictConfig
    words: list[str]  # its program with the arguments
    options: dict[str, Any]  # of its script


class JobgenLauncher(Launcher):
    """`hydra/launcher=jobgen`; the fields are those of `JobgenConf`."""

    def __init__(self, **fields: Any) -> None:
        self._waits, self._at_once = bool(fields["wait"]), fields["at_once"]
        self._is_array = bool(fields["one_array"] or self._at_once)

    def setup(
        self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig
    ) -> None:
        self._context, self._config = hydra_context, config
        if self._at_once is not None and self._at_once < 1:
            text = f"{self._at_once} is out of range; a whole number from 1"
            raise CompactHydraException(f"hydra.launcher.at_once: {text}")
        self._needs_objective = config.hydra.sweeper._target_ != _BASIC
        if self._needs_objective and not self._waits:
            sweeper = config.hydra.sweeper._target_.rpartition(".")[2]
            text = f"{sweeper} needs what the jobs return: set hydra.launcher.wait=true"
            raise CompactHydraException(text)

    def launch(
        self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int
    ) -> Sequence[JobReturn]:
        numbered = enumerate(job_overrides, initial_job_idx)
        with errors_of_users():
            jobs = [self._job(number, overrides) for number, overrides in numbered]
            self._keep_out_of_code(jobs[0])
            submitted = self._submit(jobs)
            return [self._returned(job, submitted[job.number]) for job in jobs]

    def _job(self, number: int, overrides: Sequence[str]) -> _Job:
        config = self._context.config_loader.load_sweep_config(self._config, list(overrides))
        with open_dict(config):
            config.hydra.job.id = config.hydra.job.num = number
        sweep = config.hydra.sweep
        folder = Path(config.hydra.runtime.cwd, sweep.dir, sweep.subdir)
        words = words_of_job(config, overrides, folder, number, self._waits)
        return _Job(number, folder, overrides, config, words, options_of(config.hydra.launcher))

    def _keep_out_of_code(self, job: _Job) -> None:
        """Make git ignore the sweep's folder. Raises JobgenError if it still is code to copy.

        Then each job would have a copy of its own, with what those before it wrote.
        """
        import jobgen
        from jobgen.code_store.code_files import IGNORE_FILE, code_files

        cwd = self._config.hydra.runtime.cwd
        code = jobgen.plan(program=job.words, folder=cwd, **job.options).software.code
        folders = (self._config.hydra.sweep.dir, code or "/")
        sweep, root = (Path(os.path.abspath(os.path.join(cwd, each))) for each in folders)
        if code is None or not sweep.is_relative_to(root):
            return
        if sweep == root:
            text = f"the output of sweeps is in {root} itself"
            raise problem("code", text, "code", "set hydra.sweep.dir=multirun")
        sweep.mkdir(parents=True, exist_ok=True)
        if not (ignored := sweep / ".gitignore").exists():
            ignored.write_text("*\n")
        inside = sweep.relative_to(root)
        if any(each.path.startswith(os.fsencode(f"{inside}/")) for each in code_files(root)):
            top, hint = inside.parts[0], f"echo {inside.parts[0]} >> {root / IGNORE_FILE}"
            raise problem("code", f"the output of sweeps in {top} is code there", "code", hint)

    def _submit(self, jobs: Sequence[_Job]) -> "dict[int, jobgen.SubmittedJob]":
        for job in jobs:
            job.folder.mkdir(parents=True, exist_ok=True)
            (job.folder / FILE).unlink(missing_ok=True)  # of an earlier sweep
        if self._is_array and len(jobs) > 1:
            return self._submit_array(jobs)
        submitted = {}
        for job in jobs:
            new = submitted[job.number] = self._submitted(job.words, job.folder, job.options)
            log.info(f"\t#{job.number} : {' '.join(filter_overrides(job.overrides))} : {new.id}")
        return submitted

    def _submit_array(self, jobs: Sequence[_Job]) -> "dict[int, jobgen.SubmittedJob]":
        folder = Path(self._config.hydra.runtime.cwd, self._config.hydra.sweep.dir)
        first, last = jobs[0].number, jobs[-1].number
        if other := next((job for job in jobs if job.options != jobs[0].options), None):
            text = f"an array has one script, but #{other.number} has other fields than #{first}"
            raise CompactHydraException(f"hydra.launcher.one_array: {text}; set it to false")
        lines = "\n".join(f"    {job.number}: {job.words!r}," for job in jobs)
        file = folder / f"{first}-{last}" / "jobs.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(_JOBS.format(lines=lines), encoding="utf-8")
        numbers = f"{first}-{last}" + (f"%{self._at_once}" if self._at_once else "")
        options = {"name": self._config.hydra.job.name, **jobs[0].options, "array": numbers}
        array = self._submitted([str(file), "%a"], file.parent, options)
        log.info(f"\t#{numbers} : {array.id}")
        return dict.fromkeys((job.number for job in jobs), array)

    def _submitted(
        self, words: list[str], folder: Path, options: dict[str, Any]
    ) -> "jobgen.SubmittedJob":
        """Submit a script, and keep it in the folder; those of this machine run one by one."""
        import jobgen
        from jobgen.scripts.write import write

        job = jobgen.submit(program=words, folder=self._config.hydra.runtime.cwd, **options)
        write(job.script, str(folder / "job.sh"))
        if job.messages:
            log.warning(job.messages)
        if job.scheduler == "local":
            _wait_here(job)
        return job

    def _returned(self, job: _Job, submitted: "jobgen.SubmittedJob") -> JobReturn:
        done = JobReturn(
            overrides=list(job.config.hydra.overrides.task),
            working_dir=str(job.folder),
            task_name=job.config.hydra.job.name,
            status=JobStatus.COMPLETED,
        )
        if not self._waits and submitted.scheduler != "local":
            return done
        try:
            done.return_value = self._objective(job, submitted)
        except CompactHydraException as error:  # the sweeper decides what becomes of it
            done.status, done.return_value = JobStatus.FAILED, error
        return done

    def _objective(self, job: _Job, submitted: "jobgen.SubmittedJob") -> Any:
        """What a job returned, when it has ended. Raises CompactHydraException if it failed."""
        end = submitted.wait()
        status = submitted.statuses().get(str(job.number), end.exit_status)
        name = f"job {submitted.id}, #{job.number}"
        if status != 0:
            try:
                verdict = str(submitted.why()).partition("\n")[0]
            except JobgenError as error:  # nothing is left of it
                verdict = str(error)
            raise CompactHydraException(f"{name}: {end.state}: {verdict}")
        try:
            objective = read_objective(job.folder)
        except ValueError as error:
            raise CompactHydraException(f"{name}: {job.folder / FILE}: {error}") from None
        if objective is None and self._needs_objective:
            text = f"it returned no number, and wrote no {job.folder / FILE}"
            raise CompactHydraException(f"{name}: {text}")
        return objective


def _wait_here(job: "jobgen.SubmittedJob") -> None:
    try:
        job.wait()
    except KeyboardInterrupt:
        job.cancel()
        raise
