"""Runs commands on a login node: several at once, in the C locale, each with a time limit."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial

from jobgen.errors import JobgenError, printable, problem
from jobgen.submission.machine import HERE, Machine

SECONDS = 2.0  # for commands that run at once; `jobgen detect` runs two rounds of such commands
SECONDS_THERE = 30.0  # by ssh
_NOT_FOUND = 127  # what a shell, and env, exit with for a command that is not there
SUBMIT_SECONDS = 60.0  # a busy scheduler answers late, and a job whose id is not read is lost


@dataclass(frozen=True)
class Answer:
    """The output of a command; `status` is None if the command is missing, or timed out."""

    command: str
    text: str = ""
    error: str = ""
    status: int | None = None
    is_here: bool = True
    seconds: float = SECONDS

    @property
    def failure(self) -> str:
        """Why the command failed, in a few words; "" if it ended with exit status 0."""
        if not self.is_here:
            return "is not on PATH"
        if self.status is None:
            return f"did not answer within {self.seconds:g} s"
        lines = [line.strip() for line in (self.error or self.text).splitlines() if line.strip()]
        reason = printable(lines[0][:200]) if lines else f"exit status {self.status}"
        return f"failed: {reason}" if self.status else ""


def run_together(
    commands: Mapping[str, Sequence[str]], machine: Machine = HERE
) -> dict[str, Answer]:
    """The answers of commands that run at the same time; each has a time limit."""
    run_one = partial(_run_there, machine) if machine.name else run
    with ThreadPoolExecutor(len(commands)) as pool:
        return dict(zip(commands, pool.map(run_one, commands.values()), strict=True))


def _run_there(machine: Machine, words: Sequence[str]) -> Answer:
    answer = machine.run(("env", "LC_ALL=C", "LANG=C", *words), seconds=SECONDS_THERE)
    is_there, texts = answer.status != _NOT_FOUND, (answer.output, answer.errors)
    return Answer(words[0], *texts, answer.status, is_there, SECONDS_THERE)


def run(words: Sequence[str], text: str = "", seconds: float = SECONDS) -> Answer:
    """Run one command with `text` on its standard input, and return its answer."""
    try:
        # A session of its own: it can be killed with its children, and Ctrl-C reaches none of them.
        process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "LC_ALL": "C", "LANG": "C"},
            start_new_session=True,
        )
    except OSError:
        return Answer(words[0], is_here=False)
    try:
        output, error = process.communicate(text.encode(), seconds)
    except subprocess.TimeoutExpired as timeout:  # a child may still run after the command's end
        output, error = timeout.output or b"", timeout.stderr or b""
    finally:
        status = process.poll()
        if status is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    texts = output.decode(errors="replace"), error.decode(errors="replace")
    return Answer(words[0], *texts, status)


def needed(answer: Answer) -> str:
    """The output of a necessary command. Raises JobgenError with exit code 1 if it failed."""
    if answer.failure:
        hint = "run it on a login node of the cluster, while its scheduler answers"
        raise no_answer("detect", f"`{answer.command}` {answer.failure}", "scheduler", hint)
    return answer.text


def no_answer(mark: str, text: str, code: str, hint: str = "") -> JobgenError:
    """The error for a cluster that does not answer a necessary question; its exit code is 1."""
    return JobgenError(problem(mark, text, code, hint).problems, exit_code=1)


@contextmanager
def signals_wait() -> Iterator[None]:
    """Delay Ctrl-C, TERM and HUP until the block ends, so that a submitted job's id is read."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
