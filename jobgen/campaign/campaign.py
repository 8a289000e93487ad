"""`jobgen build --submit`: submits what a manifest lacks, and follows its jobs."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from jobgen.campaign.follow_jobs import Follower
from jobgen.campaign.hosts import reach_hosts, send_needs
from jobgen.campaign.jobs import Job, JobList, chosen
from jobgen.campaign.states import State, by_queue, read_states
from jobgen.campaign.submit_jobs import Refused, locked, submit_all
from jobgen.errors import INTERRUPTED, USAGE, printable, problem, report
from jobgen.paths import to_path
from jobgen.repository.build import BuildOptions, build_all
from jobgen.scripts.write import write
from jobgen.submission.queues.job_queue import get_queue
from jobgen.submission.queues.own_jobs import NoAnswer
from jobgen.submission.submit import check_submission

_AGAIN = "the same command goes on"


class Wish(NamedTuple):
    """Which jobs of a manifest are wanted, and how they run."""

    only: Sequence[str] = ()  # names and patterns; none: all jobs
    at_once: int | None = None
    follows: bool = False


def build_and_submit(file: str, options: BuildOptions, wish: Wish) -> int:
    """Build the scripts of a manifest as `build_all` does, and submit those that it lacks.

    Returns 0; 1 after a dry run that found something to do, or if a job failed that was followed; 2
    if a script was not written or not submitted. Raises JobgenError.
    """
    folder = Path(os.path.abspath(to_path(file).parent))
    made = JobList(folder)
    changes = build_all(file, options, made.add)
    if changes == USAGE:
        return USAGE
    machines = {job.machine for job in chosen(made.jobs, wish.only)}
    some = [job for job in made.jobs if job.machine in machines]  # a host may be down
    jobs = reach_hosts(some, made.needs, not options.dry_run)
    wanted = chosen(jobs, wish.only)
    try:
        if options.dry_run:
            return max(changes, _show(read_states(wanted)))
        for scheduler in {job.scheduler for job in wanted if not job.machine.name}:
            check_submission(scheduler, None)
        with locked(folder) as lock:
            send = partial(send_needs, needs=made.needs, folder=folder)
            states = submit_missing(jobs, wanted, wish.at_once, lock, send)
    except NoAnswer as error:
        text = f"{error}; nothing was submitted, since it is not known what is in the queue"
        raise problem("--submit", text, "queue", _AGAIN) from None
    if states is None:
        return USAGE
    return _follow(states) if wish.follows else 0


def _show(states: Sequence[State]) -> int:
    """Write what would be submitted; returns 1 if anything would."""
    for state in states:
        if state.is_missing:
            write(f"{printable(str(state.job.path))}: would be submitted: {state.reason}\n")
    _report_others(states, 0)
    return int(any(state.is_missing for state in states))


def submit_missing(
    jobs: Sequence[Job],
    wanted: Sequence[Job],
    at_once: int | None,
    lock: int,
    send: Callable[[Iterable[Job]], None] = lambda _: None,
) -> list[State] | None:
    """Submit those wanted jobs that are missing, and report it, while the lock is held.

    Before that, `send` sends to their hosts what they need there.
    Returns the states of the wanted jobs; None if one could not be submitted. Raises NoAnswer if
    nothing was submitted.
    """
    states = read_states(jobs)
    some = set(wanted)
    todo = [state for state in states if state.job in some]
    missing = [(state, state.reason if state.attempt else "") for state in todo if state.is_missing]
    done = 0
    send(state.job for state, _ in missing)
    try:
        submitted = submit_all(states, [state for state, _ in missing], at_once, lock)
        for state, (_, reason) in zip(submitted, missing, strict=False):
            done += 1
            again = f" ({reason})" if reason else ""
            write(f"{printable(str(state.job.path))}: job {state.attempts[-1].id}{again}\n")
    except (Refused, NoAnswer) as error:
        report(str(error))
        report(f"{done} of {len(missing)} jobs are submitted; not submitted:")
        for state, _ in missing[done:]:
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
    counts = {
        "to be submitted": sum(state.is_missing for state in states),
        "submitted": submitted,
        "in the queue already": sum(state.is_queued for state in states) - submitted,
        "succeeded before": sum(state.succeeded for state in states),
    }
    shown = ", ".join(f"{count} {words}" for words, count in counts.items() if count)
    report(f"{len(states)} jobs: {shown or 'none to submit'}")


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
