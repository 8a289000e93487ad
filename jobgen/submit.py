"""Giving a script to the scheduler, and following the job: `--submit` and `--wait`.

The scheduler's own command gets the script on its stdin, as it would from a pipe. What the commands
are, and what their answers mean, is in `schedulers/`; how it is shown is in `progress`. This is
imported only when it is asked for.
"""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import sleep

from jobgen.errors import ClosedPipe, JobgenError, problem, tell
from jobgen.progress import Progress
from jobgen.schedulers import COMMANDS
from jobgen.schedulers.queue import Queue, Standing, queue
from jobgen.write import write

FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 1.0, 1.2, 10.0  # seconds between two questions
MISSES = 60  # questions in a row that may fail: about ten minutes
PATIENCE = 70.0  # seconds for an answer; PBS tries for 60 to tell a qsub that its job is over
INTERRUPTED = 130


def check(scheduler: str, output: str | None) -> None:
    """Raises JobgenError if nothing can be submitted from here; nothing has happened yet."""
    if output == "-":
        text = "stdout is for the job's id where the script is submitted"
        raise problem("-o -", text, "usage", "name a file, or leave --submit and --wait out")
    command = queue(scheduler).SUBMIT[0]
    if not shutil.which(command):
        raise _does_not_run(command, "there is none on PATH", scheduler)


def submit(script: str, scheduler: str, wait: bool) -> int:
    """Submit the script, and print the job's id alone on stdout; `wait`: follow it to its end.

    Returns 0 or, with `wait`, the job's exit status. Where the scheduler refuses the job, returns
    what its command ended with, or 1 if that was 0. Raises JobgenError if the command cannot run.
    """
    ours = queue(scheduler)
    stays = wait and bool(ours.BLOCK)
    process = _start((*ours.SUBMIT, *(ours.BLOCK if stays else ())), stays, scheduler)
    try:
        _send(script, process)
        try:
            named = _named(process, ours)
        except KeyboardInterrupt:
            tell(f"whether {ours.SUBMIT[0]} has taken the script is not known: look at the queue")
            raise
        if named is None:
            return _ended(process) or _no_id(ours)
        job = Submitted(*named, ours, process if stays else None)
        job.announce()
        return job.follow() if wait else _ended(process)
    finally:
        process.kill()
        process.wait()


def _start(words: Sequence[str], stays: bool, scheduler: str) -> subprocess.Popen[bytes]:
    # A qsub that waits for its job deletes it on a signal, such as the terminal's at Ctrl-C and at
    # a logout (qsub.c, `bailout`). It inherits the mask; we end it with KILL, which no one catches.
    shield = {signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM} if stays else set()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, shield)
    try:
        return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    except OSError as error:
        raise _does_not_run(words[0], str(error.strerror), scheduler) from None
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _does_not_run(command: str, why: str, scheduler: str) -> JobgenError:
    pipe = f"jobgen {COMMANDS[scheduler]} … | ssh LOGIN {command}"
    hint = f"do this on a login node, or from here: {pipe}"
    return problem("--submit", f"`{command}` does not run here: {why}", "submit", hint)


def _send(script: str, process: subprocess.Popen[bytes]) -> None:
    assert process.stdin
    with suppress(BrokenPipeError), process.stdin as stdin:  # what ends early says why
        stdin.write(script.encode("utf-8"))


def _named(process: subprocess.Popen[bytes], ours: Queue) -> tuple[str, str] | None:
    """The id that the command prints; what a site's wrapper prints beside it goes to stderr."""
    assert process.stdout
    for line in process.stdout:
        text = line.decode("utf-8", "replace").strip()
        if named := ours.submitted(text):
            return named
        tell(text)
    return None


def _no_id(ours: Queue) -> int:
    tell(f"{ours.SUBMIT[0]} ended with 0 and named no job: whether it took the script is not known")
    return 1


def _ended(process: subprocess.Popen[bytes]) -> int:
    """The exit status of a command, as a shell would say it."""
    assert process.stdout
    process.stdout.read()
    return _as_a_shell_says(process.wait())


def _as_a_shell_says(status: int) -> int:
    return status if status >= 0 else 128 - status


@dataclass(frozen=True)
class Submitted:
    """A job that the scheduler has taken; `process` is the command that stays, if it does."""

    id: str
    cluster: str
    queue: Queue
    process: subprocess.Popen[bytes] | None

    def announce(self) -> None:
        """The id, alone on stdout; if that cannot be written, on stderr, and JobgenError."""
        if self.cluster:
            tell(f"job {self.id} is on the cluster {self.cluster}; to cancel it: {self._cancel()}")
        try:
            write(f"{self.id}\n")
        except (JobgenError, ClosedPipe):
            tell(f"the job is submitted: {self.id}")
            raise

    def follow(self) -> int:
        """Show how the job stands until it is over, and return its exit status."""
        shown = Progress(self.id)
        try:
            return self._follow(shown)
        except KeyboardInterrupt:
            shown.end(f"it goes on; to cancel it: {self._cancel()}")
            return INTERRUPTED

    def _follow(self, shown: Progress) -> int:
        pause, misses, last = FIRST_PAUSE, 0, Standing("UNKNOWN")
        parts: dict[str, int | None] = {}  # Slurm forgets an array's jobs one by one (MinJobAge)
        while True:
            now, said = self._ask()
            if now:
                misses, last = 0, now
                parts.update(now.parts)
                if now.status is not None:
                    worst = max(now.status, *(status or 0 for status in parts.values()), 0)
                    return shown.over(now._replace(status=worst))
                shown.show(now)
            elif re.search(self.queue.GONE, said) or misses == MISSES:
                return shown.over(self._lost(last, said))
            else:
                misses += 1
                shown.trouble(said)
            sleep(pause)
            pause = min(pause * GROWTH, LONGEST_PAUSE)

    def _ask(self) -> tuple[Standing | None, str]:
        """How the job stands, or what the scheduler says instead."""
        said = ""
        for words in self.queue.questions(self.id, self.cluster):
            try:
                done = subprocess.run(
                    words, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE,
                    check=False,
                )  # fmt: skip
            except (OSError, subprocess.TimeoutExpired) as error:
                said += f"{error}\n"
                continue
            if now := self.queue.standing(done.stdout.decode("utf-8", "replace")):
                return now, ""
            said += done.stderr.decode("utf-8", "replace")
        return None, said

    def _lost(self, last: Standing, said: str) -> Standing:
        """How a job ended of which the scheduler says nothing any more."""
        if self.process:  # a qsub that stays ends as its job did: with 3 if that was deleted
            with suppress(subprocess.TimeoutExpired):
                status = _as_a_shell_says(self.process.wait(PATIENCE))
                return Standing("ENDED", f"exit status {status}", output=last.output, status=status)
        why = said.strip().partition("\n")[0]
        state, note = f"{last.state} when last seen", f"its exit status is not known: {why}"
        return last._replace(state=state, note=note, status=1)

    def _cancel(self) -> str:
        return " ".join(self.queue.cancel(self.id, self.cluster))
