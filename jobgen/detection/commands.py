"""Runs the commands of a login node: several at once, in the C locale, until one moment."""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from jobgen.errors import JobgenError, printable, problem

SECONDS = 2.0  # for the commands that run together; `jobgen detect` has two rounds of them
SUBMIT_SECONDS = 60.0  # a busy scheduler takes a job late, and a job that is not known is lost


@dataclass(frozen=True)
class Answer:
    """What a command printed; `status` is None if it did not end in time, or is not here."""

    command: str
    text: str = ""
    error: str = ""
    status: int | None = None
    is_here: bool = True

    @property
    def failure(self) -> str:
        """Why there is no answer, in a few words; "" if the command ended with 0."""
        if not self.is_here:
            return "is not on PATH"
        if self.status is None:
            return f"did not answer within {SECONDS:g} s"
        lines = [line.strip() for line in (self.error or self.text).splitlines() if line.strip()]
        reason = printable(lines[0][:200]) if lines else f"exit status {self.status}"
        return f"failed: {reason}" if self.status else ""


def run_together(commands: Mapping[str, Sequence[str]]) -> dict[str, Answer]:
    """The answers of commands that run at the same time; those that take longer are killed."""
    with ThreadPoolExecutor(len(commands)) as pool:
        return dict(zip(commands, pool.map(run, commands.values()), strict=True))


def run(words: Sequence[str], text: str = "", seconds: float = SECONDS) -> Answer:
    """The answer of one command that gets `text` on its standard input."""
    try:
        # In a session of its own, all that it started can be killed, and Ctrl-C does not reach it.
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
    except subprocess.TimeoutExpired as timeout:  # it may have ended, and what it started not
        output, error = timeout.output or b"", timeout.stderr or b""
    finally:
        status = process.poll()
        if status is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
    texts = output.decode(errors="replace"), error.decode(errors="replace")
    return Answer(words[0], *texts, status)


def needed(answer: Answer) -> str:
    """The text of a command that `jobgen detect` cannot do without. Raises JobgenError: exit 1."""
    if answer.failure:
        hint = "run it on a login node of the cluster, while its scheduler answers"
        raise no_answer("detect", f"`{answer.command}` {answer.failure}", "scheduler", hint)
    return answer.text


def no_answer(mark: str, text: str, code: str, hint: str = "") -> JobgenError:
    """The error for a cluster that does not say what is needed; its exit code is 1."""
    return JobgenError(problem(mark, text, code, hint).problems, exit_code=1)


@contextmanager
def signals_wait() -> Iterator[None]:
    """Ctrl-C and its like come only after this: a job that is submitted now must get its id."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)
