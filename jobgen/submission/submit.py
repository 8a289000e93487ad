"""Gives a script to the scheduler.

The scheduler's command reads the script from its stdin, as in a pipe.
"""

import shutil
import signal
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from jobgen.code_store.store import folder_of_job
from jobgen.errors import JobgenError, problem, report
from jobgen.planning.plan import Plan
from jobgen.runs.records import LOGS, note_submission
from jobgen.schedulers import COMMANDS
from jobgen.submission.follow import FollowedJob, shell_status
from jobgen.submission.machine import HERE, Machine
from jobgen.submission.queues.job_queue import JobQueue, JobStatus, get_queue


def check_submission(scheduler: str, output: str | None, is_here: bool = True) -> None:
    """Raise JobgenError for `-o -`, or if this machine should have the command and lacks it."""
    if output == "-":
        text = "stdout is for the job's id when the script is submitted"
        raise problem("-o -", text, "usage", "name a file, or leave out --submit and --wait")
    command = get_queue(scheduler).submit[0]
    if is_here and not shutil.which(command):
        raise _cannot_run(command, "there is none on PATH", scheduler)


def log_folder(plan: Plan, within: Path) -> Path:
    """The folder of the records of a job that is submitted from the folder `within`.

    Raises JobgenError if a $NAME in its path is not set here.
    """
    request = plan.request
    text = request.log_folder or LOGS
    return folder_of_job(text, request.chdir, within, key="request.log_folder")


class Accepted(NamedTuple):
    """A job that the scheduler has taken, and what its command said on stderr."""

    id: str
    cluster: str
    messages: str


def hand_over(
    script: bytes, queue: JobQueue, options: Sequence[str] = (), lock: int | None = None
) -> Accepted:
    """Submit a script, and do not wait for the job. Raises JobgenError if it is not taken.

    The command keeps the lock of this machine until it ends.
    """
    answer = queue.machine.submit((*queue.submit, *options), script, lock)
    errors = answer.errors.strip()
    lines = [line.strip() for line in answer.output.splitlines()]
    found = next((each for line in lines if (each := queue.parse_id(line))), None)
    if not found:
        text = errors or f"it ended with status {answer.status}, and printed no id"
        raise JobgenError(f"{queue.submit[0]} did not take it: {text}")
    return Accepted(*found, errors)


def submit_script(
    script: str,
    scheduler: str,
    follows: bool,
    logs: Path | None = None,
    machine: Machine = HERE,
    logs_there: str = "",
) -> JobStatus:
    """Submit the script, and write the job's id alone to stdout; returns the job's status.

    The job's record, in the folder `logs`, begins with the time of its submission.

    With `follows`, show the job until it ends; the status is the job's last one. Without `follows`,
    or if the command prints no id, the exit status is the command's; without an id, 0 becomes 1.
    `logs_there` is the folder of the job's own record on another machine.
    Raises JobgenError if the command cannot run.
    """
    queue = get_queue(scheduler, machine)
    if machine.name:
        return _submit_there(script, queue, follows, logs, logs_there)
    command_waits = follows and bool(queue.blocking_options)
    options = queue.blocking_options if command_waits else ()
    process = _start((*queue.submit, *options), command_waits, scheduler)
    try:
        job_and_cluster = _send(script, process, queue)
        if job_and_cluster is None:
            return _without_id(_wait(process), queue)
        place = str(logs).replace("$", "$$") if logs else ""
        job = FollowedJob(*job_and_cluster, queue, process if command_waits else None, place)
        if logs:
            _note(logs, job.id, script, "")
        job.announce()
        return job.follow() if follows else JobStatus("", exit_status=_wait(process))
    finally:
        process.kill()
        process.wait()


def _submit_there(
    script: str, queue: JobQueue, follows: bool, logs: Path | None, logs_there: str
) -> JobStatus:
    """Submit the script on another machine; see `submit_script`."""
    try:
        answer = queue.machine.submit(queue.submit, script.encode("utf-8"))
    except KeyboardInterrupt:
        where = f"on {queue.machine.name}: check the queue there"
        report(f"it is not known whether {queue.submit[0]} took the script {where}")
        raise
    for line in answer.errors.splitlines():
        report(line)
    job_and_cluster = _read_id(answer.output.encode().splitlines(), queue)
    if job_and_cluster is None:
        return _without_id(answer.status or 0, queue)
    job = FollowedJob(*job_and_cluster, queue, None, logs_there)
    if logs:
        _note(logs, job.id, script, logs_there)
    job.announce()
    status = job.follow() if follows else JobStatus("", exit_status=answer.status)
    return status._replace(job=job.id)


def _send(script: str, process: subprocess.Popen[bytes], queue: JobQueue) -> tuple[str, str] | None:
    """Write the script to the command that submits it; returns the job's id and cluster."""
    assert process.stdin
    assert process.stdout
    with suppress(BrokenPipeError), process.stdin as stdin:
        stdin.write(script.encode("utf-8"))  # a command that ends early prints why
    try:
        return _read_id(process.stdout, queue)
    except KeyboardInterrupt:
        report(f"it is not known whether {queue.submit[0]} took the script: check the queue")
        raise


def _without_id(exit_status: int, queue: JobQueue) -> JobStatus:
    """The status if the command for submission has ended and printed no id."""
    if not exit_status:
        text = "ended with 0 and printed no id: it is not known whether it took the script"
        report(f"{queue.submit[0]} {text}")
    return JobStatus("", exit_status=exit_status or 1)


def _note(logs: Path, job: str, script: str, logs_there: str) -> None:
    """Write the job's record; the job is submitted, so what fails here is a warning."""
    try:
        note_submission(logs, job, script.encode("utf-8"), logs_there)
    except OSError as error:
        report(f"warning: the job has no record yet: {error.filename or logs}: {error.strerror}")


def _start(words: Sequence[str], command_waits: bool, scheduler: str) -> subprocess.Popen[bytes]:
    # On a signal, a waiting qsub deletes its job (qsub.c, `bailout`); Ctrl-C and a logout send such
    # signals. qsub inherits this mask, which blocks them; KILL cannot be blocked, and ends qsub.
    signals = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM)
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, signals if command_waits else ())
    try:
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        raise _cannot_run(words[0], str(error.strerror), scheduler) from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def _cannot_run(command: str, reason: str, scheduler: str) -> JobgenError:
    hint = f"do this on a login node, or from here: jobgen {COMMANDS[scheduler]} … --host LOGIN"
    return problem("--submit", f"`{command}` does not run here: {reason}", "submit", hint)


def _read_id(lines: Iterable[bytes], queue: JobQueue) -> tuple[str, str] | None:
    """The job's id and cluster in the command's output; other lines are reported on stderr."""
    for line in lines:
        text = line.decode("utf-8", "replace").strip()
        if job_and_cluster := queue.parse_id(text):
            return job_and_cluster
        report(text)
    return None


def _wait(process: subprocess.Popen[bytes]) -> int:
    """Wait for a command to end; returns its exit status as a shell shows it."""
    assert process.stdout
    process.stdout.read()
    return shell_status(process.wait())
