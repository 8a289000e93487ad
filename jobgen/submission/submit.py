"""Gives a script to the scheduler.

The scheduler's command reads the script from its stdin, as in a pipe.
"""

import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress

from jobgen.errors import JobgenError, problem, report
from jobgen.schedulers import COMMANDS
from jobgen.submission.follow import SubmittedJob, shell_status
from jobgen.submission.job_queue import JobQueue, JobStatus, get_queue


def check_submission(scheduler: str, output: str | None) -> None:
    """Raise JobgenError for `-o -`, or if this machine lacks the scheduler's command."""
    if output == "-":
        text = "stdout is for the job's id when the script is submitted"
        raise problem("-o -", text, "usage", "name a file, or leave out --submit and --wait")
    command = get_queue(scheduler).submit[0]
    if not shutil.which(command):
        raise _cannot_run(command, "there is none on PATH", scheduler)


def submit_script(script: str, scheduler: str, follows: bool) -> JobStatus:
    """Submit the script, and write the job's id alone to stdout; returns the job's status.

    With `follows`, show the job until it ends; the status is the job's last one. Without `follows`,
    or if the command prints no id, the exit status is the command's; without an id, 0 becomes 1.
    Raises JobgenError if the command cannot run.
    """
    queue = get_queue(scheduler)
    command_waits = follows and bool(queue.blocking_options)
    options = queue.blocking_options if command_waits else ()
    process = _start((*queue.submit, *options), command_waits, scheduler)
    try:
        assert process.stdin
        with suppress(BrokenPipeError), process.stdin as stdin:
            stdin.write(script.encode("utf-8"))  # a command that ends early prints why
        try:
            job_and_cluster = _read_id(process, queue)
        except KeyboardInterrupt:
            report(f"it is not known whether {queue.submit[0]} took the script: check the queue")
            raise
        if job_and_cluster is None:
            exit_status = _wait(process)
            if not exit_status:
                text = "ended with 0 and printed no id: it is not known whether it took the script"
                report(f"{queue.submit[0]} {text}")
            return JobStatus("", exit_status=exit_status or 1)
        job = SubmittedJob(*job_and_cluster, queue, process if command_waits else None)
        job.announce()
        return job.follow() if follows else JobStatus("", exit_status=_wait(process))
    finally:
        process.kill()
        process.wait()


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
    pipe = f"jobgen {COMMANDS[scheduler]} … | ssh LOGIN {command}"
    hint = f"do this on a login node, or from here: {pipe}"
    return problem("--submit", f"`{command}` does not run here: {reason}", "submit", hint)


def _read_id(process: subprocess.Popen[bytes], queue: JobQueue) -> tuple[str, str] | None:
    """The job's id and cluster in the command's output; other lines are reported on stderr."""
    assert process.stdout
    for line in process.stdout:
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
