"""`jobgen build --submit`: submits what a manifest lacks, and follows its jobs."""

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from jobgen.campaign.attempts import State
from jobgen.campaign.follow_jobs import Follower
from jobgen.campaign.hosts import reach_hosts, send_needs
from jobgen.campaign.jobs import Job, JobList, chosen
from jobgen.campaign.states import by_queue, read_states
from jobgen.campaign.submit_jobs import WithoutRecord, locked, submit_all
from jobgen.errors import INTERRUPTED, USAGE, JobgenError, counted, printable, problem, report
from jobgen.paths import to_path
from jobgen.repository.build import BuildOptions, build_all
from jobgen.scripts.write import write
from jobgen.submission.edits import edit_warnings
from jobgen.submission.environments import check_environments
from jobgen.submission.queues.job_queue import get_queue
from jobgen.submission.queues.own_jobs import NoAnswer
from jobgen.submission.submit import check_submission

_AGAIN = "the same command goes on"


class Wish(NamedTuple):
    """Which jobs of a manifest are wanted, and how they run."""

    only: Sequence[str] = ()  # names and patterns; none: all jobs
    at_once: int | None = None
    follows: bool = False
    changed: bool = False  # also those that have succeeded before their scripts changed


def build_and_submit(file: str, options: BuildOptions, wish: Wish) -> int:
    """Build the scripts of a manifest as `build_all` does, and submit those that it lacks.

    Returns 0; 1 after a dry run that found something to do, or if a job failed that was followed; 2
    if a script was not written or not submitted. Raises JobgenError.
    """
    folder = Path(os.path.abspath(to_path(file).parent))
    made = JobList(folder)
    changes = build_all(file, options, made.add, lambda: chosen(made.jobs, wish.only))
    if changes == USAGE:
        return USAGE
    machines = {job.machine for job in chosen(made.jobs, wish.only)}
    some = [job for job in made.jobs if job.machine in machines]  # a host may be down
    jobs = reach_hosts(some, made.needs, not options.dry_run)
    wanted = chosen(jobs, wish.only)
    try:
        if options.dry_run:
            return max(changes, _show(read_states(wanted), wish.changed, made))
        for scheduler in {job.scheduler for job in wanted if not job.machine.name}:
            check_submission(scheduler, None)
        with locked(folder) as lock:
            states = submit_missing(jobs, wanted, wish, lock, lambda due: _prepare(due, made))
    except NoAnswer as error:
        text = f"{error}; nothing was submitted, since it is not known what is in the queue"
        raise problem("--submit", text, "queue", _AGAIN) from None
    if states is None:
        return USAGE
    _report_changes(states, wish.changed, made)
    return _follow(states) if wish.follows else 0


def _show(states: Sequence[State], changed: bool, made: JobList) -> int:
    """Write what would be submitted; returns 1 if anything would."""
    due = [state for state in states if state.is_due(changed)]
    for state in due:
        write(f"{printable(str(state.job.path))}: would be submitted: {state.reason}\n")
    _report_others([state for state in states if state not in due], 0, len(due))
    _report_changes(states, changed, made)
    return int(bool(due))


def _prepare(due: Sequence[Job], made: JobList) -> None:
    """Send what jobs need to their hosts before they are submitted; check what is needed here."""
    plans = [made.needs[job.path].plan for job in due if not job.machine.name]
    check_environments(plans, made.folder)
    send_needs(due, made.needs, made.folder)
    for warning in edit_warnings(plans, made.folder, "`defaults` of the manifest"):
        report(f"warning: {warning}")


def submit_missing(
    jobs: Sequence[Job],
    wanted: Sequence[Job],
    wish: Wish,
    lock: int,
    prepare: Callable[[Sequence[Job]], None] = lambda _: None,
) -> list[State] | None:
    """Submit those wanted jobs that are due, after `prepare`, while the lock is held; report it.

    Returns the states of the wanted jobs; None if one could not be submitted. Raises NoAnswer if
    nothing was submitted.
    """
    states = read_states(jobs)
    some = set(wanted)
    todo = [state for state in states if state.job in some]
    due = [state for state in todo if state.is_due(wish.changed)]
    reasons = [f" ({state.reason})" if state.attempt else "" for state in due]
    done = 0
    prepare([state.job for state in due])
    try:
        submitted = submit_all(states, due, wish.at_once, lock)
        for state, again in zip(submitted, reasons, strict=False):
            done += 1
            write(f"{printable(str(state.job.path))}: job {state.attempts[-1].id}{again}\n")
    except JobgenError as error:
        done += isinstance(error, WithoutRecord)
        report(str(error))
        rest = "; not submitted:" if due[done:] else ""
        report(f"{done} of {len(due)} jobs are submitted{rest}")
        for state in due[done:]:
            report(f"  {state.job.path}")
        report(f"when the cause is mended, {_AGAIN}")
        return None
    except KeyboardInterrupt:
        report(f"{done} of {len(due)} jobs are submitted; {_AGAIN}")
        raise
    _report_others(todo, done)
    return todo


def _report_others(states: Sequence[State], submitted: int, due: int = 0) -> None:
    for state in states:
        if state.is_unknown:
            hint = "to submit the job again, remove its record there; a plain script notes no end"
            report(f"{state.job.path}: {state.reason}; {hint}: {state.job.logs}")
    counts = {
        "to be submitted": due,
        "submitted": submitted,
        "in the queue already": sum(state.is_queued for state in states) - submitted,
        "succeeded before": sum(state.succeeded for state in states),
    }
    shown = ", ".join(f"{count} {words}" for words, count in counts.items() if count)
    report(f"{counted(len(states) + due, 'job')}: {shown or 'none to submit'}")


def _report_changes(states: Sequence[State], changed: bool, made: JobList) -> None:
    """Report jobs that are not submitted again although their scripts have changed."""
    outdated = [state for state in states if state.changes and not state.is_due(changed)]
    if not outdated:
        return
    parts = sorted({part for state in outdated for part in state.changes})
    report(f"{len(outdated)} of them were submitted before a change of {', '.join(parts)}")
    records = [(state.job, record) for state in outdated for record in state.attempts[-1].records]
    if files := next(filter(None, (made.code_changes(*each) for each in reversed(records))), ""):
        report(f"  {files}")
        report("  results and the like are no code: .gitignore or .jobgenignore leaves them out")
    if any(state.succeeded for state in outdated):
        report("  --changed submits those again that have succeeded")
    if queued := [state for state in outdated if state.is_queued]:
        report("  those in the queue run as they were; this cancels them, to submit them anew:")
        for line in _cancel_commands(queued):
            report(f"    {line}")


def _follow(states: Sequence[State]) -> int:
    """Follow the jobs to their ends; returns 1 if one failed, 130 after Ctrl-C."""
    follower = Follower(states)
    try:
        follower.follow()
    except KeyboardInterrupt:
        follower.table.clear()
        report("the jobs go on; the same command follows them again. To cancel them:")
        for line in _cancel_commands(follower.open):
            report(f"  {line}")
        return INTERRUPTED
    follower.table.note(follower.summary)
    for line in follower.failed:
        report(f"  {line}")
    return int(bool(follower.failed))


def _cancel_commands(states: Sequence[State]) -> Iterator[str]:
    for machine, scheduler, own in by_queue(states):
        yield machine.shown([*get_queue(scheduler).cancel, *(each.attempts[-1].id for each in own)])
