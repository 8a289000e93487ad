"""`jobgen build --submit`: submits what a manifest lacks, and follows its jobs."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jobgen.campaign.follow_jobs import Follower
from jobgen.campaign.jobs import Job, JobList, chosen
from jobgen.campaign.states import State, read_states
from jobgen.campaign.submit_jobs import Refused, Submission, locked
from jobgen.errors import INTERRUPTED, USAGE, printable, problem, report
from jobgen.paths import to_path
from jobgen.repository.build import BuildOptions, build_all
from jobgen.scripts.write import write
from jobgen.submission.machine import HERE, Here, Machine
from jobgen.submission.queues.job_queue import get_queue
from jobgen.submission.queues.many_jobs import NoAnswer
from jobgen.submission.submit import check_submission

_AGAIN = "the same command goes on"


class Wish(NamedTuple):
    """Which jobs of a manifest are wanted, and how they run."""

    only: Sequence[str] = ()  # names and patterns; none: all jobs
    at_once: int | None = None
    follows: bool = False
    machine: Machine = HERE


def build_and_submit(file: str, options: BuildOptions, wish: Wish) -> int:
    """Build the scripts of a manifest as `build_all` does, and submit those that it lacks.

    Returns 0; 1 after a dry run that found something to do, or if a job failed that was followed; 2
    if a script was not written or not submitted. Raises JobgenError.
    """
    folder = Path(os.path.abspath(to_path(file).parent))
    made = JobList(folder)
    changes = build_all(file, *options, made.add)
    if changes == USAGE:
        return USAGE
    jobs = list(made.by_digest.values())
    wanted = chosen(jobs, wish.only)
    here = wish.machine if wish.machine.name else Here(str(folder))
    try:
        if options.dry_run:
            return max(changes, _show(read_states(wanted, here)))
        for scheduler in {job.scheduler for job in wanted} if here is not wish.machine else ():
            check_submission(scheduler, None)
        states = _submit(folder, here, (jobs, wanted), wish.at_once)
    except NoAnswer as error:
        text = f"{error}; nothing was submitted, since it is not known what is in the queue"
        raise problem("--submit", text, "queue", _AGAIN) from None
    if states is None:
        return USAGE
    return _follow(states, here) if wish.follows else 0


def _show(states: Sequence[State]) -> int:
    """Write what would be submitted; returns 1 if anything would."""
    for state in states:
        if state.is_missing:
            write(f"{printable(str(state.job.path))}: would be submitted: {state.reason}\n")
    _report_others(states, 0)
    return int(any(state.is_missing for state in states))


def _submit(
    folder: Path, here: Machine, jobs: tuple[Sequence[Job], Sequence[Job]], at_once: int | None
) -> list[State] | None:
    """Submit what is missing of the wanted jobs, the second ones among all; None if that failed.

    Returns the states of the wanted jobs. Raises NoAnswer if nothing was submitted.
    """
    with locked(folder) as lock:
        submission = Submission(folder, here, lock)
        return submit_missing(submission, *jobs, at_once)


def submit_missing(
    submission: Submission, jobs: Sequence[Job], wanted: Sequence[Job], at_once: int | None
) -> list[State] | None:
    """Submit those wanted jobs that are missing, and report it, while the lock is held."""
    submission.recover()
    states = read_states(jobs, submission.machine)
    paths = {job.path for job in wanted}
    todo = [state for state in states if state.job.path in paths]
    missing = [state for state in todo if state.is_missing]
    done = 0
    try:
        for state in submission.submit_all(states, missing, at_once):
            assert state.attempt
            done += 1
            again = f" ({state.reason})" if state.earlier else ""
            write(f"{printable(str(state.job.path))}: job {state.attempt.id}{again}\n")
    except (Refused, NoAnswer) as error:
        report(str(error))
        report(f"{done} of {len(missing)} jobs are submitted; not submitted:")
        for state in missing[done:]:
            report(f"  {state.job.path}")
        report(f"when the cause is mended, {_AGAIN}")
        return None
    except KeyboardInterrupt:
        report(f"{done} of {len(missing)} jobs are submitted; {_AGAIN}")
        raise
    _report_others(todo, done)
    return todo


def _report_others(states: Sequence[State], submitted: int) -> None:
    for state in states:
        if state.is_unknown:
            hint = "to submit the job again, remove its record there; a plain script notes no end"
            report(f"{state.job.path}: {state.reason}; {hint}: {state.job.logs}")
    queued = sum(bool(state.status) for state in states) - submitted
    counts = {
        "to be submitted": sum(state.is_missing for state in states),
        "submitted": submitted,
        "in the queue already": queued,
        "succeeded before": sum(state.succeeded for state in states),
    }
    shown = ", ".join(f"{count} {words}" for words, count in counts.items() if count)
    report(f"{len(states)} jobs: {shown or 'none to submit'}")


def _follow(states: Sequence[State], machine: Machine) -> int:
    """Follow the jobs to their ends; returns 1 if one failed, 130 after Ctrl-C."""
    follower = Follower(states, machine)
    try:
        follower.follow()
    except KeyboardInterrupt:
        follower.table.clear()
        report("the jobs go on; the same command follows them again. To cancel them:")
        for words in _cancel_commands(follower):
            report(f"  {machine.shown(words)}")
        return INTERRUPTED
    failed = [each for each in follower.jobs if each.failed]
    follower.table.note(follower.summary)
    for each in failed:
        report(f"  {each.name}: job {each.id}: {each.end}")
    return int(bool(failed))


def _cancel_commands(follower: Follower) -> Iterator[list[str]]:
    """The commands that cancel the jobs that have not ended."""
    ids: dict[str, list[str]] = {}
    for each in follower.open:
        ids.setdefault(each.state.job.scheduler, []).append(each.id)
    for scheduler, jobs in ids.items():
        yield [*get_queue(scheduler).cancel, *jobs]
