"""Processes untrusted input in a child process with limits of memory and time.

A template is a program, and the parser of bash is written in C: with untrusted input, either may
never end, take all memory, or crash Python. Then only the child process ends.
"""

from __future__ import annotations

import gc
import os
import pickle
import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar, NoReturn

from jobgen.errors import OUT_OF_MEMORY, JobgenError, problem


class ChildEnded(Exception):
    """The child process ended without an answer; the text says why."""


class ChildProcess:
    """Calls `function` in a child process, which is a copy of this one.

    Each call gets `seconds` of CPU time, and the child `memory` bytes more than this process has
    when the child starts. The first call starts it, and it answers the next calls, too. Only one
    child runs at a time. If this process is killed, the child ends after its seconds.
    """

    _current: ClassVar[ChildProcess | None] = None

    def __init__(self, function: Callable[..., Any], memory: int, seconds: float) -> None:
        self.function = function
        self.memory = memory
        self.seconds = seconds

    def call(self, *arguments: Any) -> Any:
        """What `function` returns. Raises the JobgenError that it raises, or ChildEnded."""
        if ChildProcess._current is not self:
            self._start()
        try:
            pickle.dump(arguments, self.requests)
            self.requests.flush()
            succeeded, answer = pickle.load(self.answers)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise ChildEnded(self._reason(self.stop(0))) from None
        except BaseException:  # such as an interrupt
            self.stop()
            raise
        if not succeeded:
            raise JobgenError(answer)
        return answer

    def stop(self, signal_number: int = signal.SIGKILL) -> int:
        """End the child, if it runs; returns its status as `waitpid` gives it."""
        if ChildProcess._current is not self:
            return 0
        ChildProcess._current = None
        for pipe in (self.requests, self.answers):
            with suppress(OSError):  # a request that nobody reads any more
                pipe.close()
        os.kill(self.pid, signal_number)  # 0 sends no signal: the child has ended by itself
        return os.waitpid(self.pid, 0)[1]

    @classmethod
    def forget(cls) -> None:
        """Leave the child to the parent of this process, which was copied from it."""
        cls._current = None

    def _start(self) -> None:
        if ChildProcess._current:
            ChildProcess._current.stop()
        requests_read, requests_write = os.pipe()
        answers_read, answers_write = os.pipe()
        try:
            self.pid = os.fork()
        except OSError as error:
            for pipe in (requests_read, requests_write, answers_read, answers_write):
                os.close(pipe)
            text = f"cannot be started: {error.strerror}"
            raise problem("a second process", text, "process", "end others of yours") from None
        if not self.pid:
            os.close(requests_write)
            os.close(answers_read)
            self._serve(requests_read, answers_write)
        os.close(requests_read)
        os.close(answers_write)
        self.requests = os.fdopen(requests_write, "wb")
        self.answers = os.fdopen(answers_read, "rb")
        ChildProcess._current = self

    def _serve(self, requests_read: int, answers_write: int) -> NoReturn:
        """Answer calls until there are none; never changes the parent's files or state."""
        try:
            gc.freeze()
            null = os.open(os.devnull, os.O_WRONLY)
            for stream in {1, 2} - {requests_read, answers_write}:  # if it was closed, it is a pipe
                os.dup2(null, stream)
            self._set_bounds()
            with (
                os.fdopen(requests_read, "rb") as requests,
                os.fdopen(answers_write, "wb") as answers,
            ):
                while True:
                    answer = self._answer(pickle.load(requests))
                    pickle.dump(answer, answers)
                    answers.flush()
                    if not answer[0]:
                        gc.collect()  # Jinja's tracebacks keep each other alive
        finally:
            os._exit(1)

    def _set_bounds(self) -> None:
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (0, hard))
        soft, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_memory_bound(self.memory, soft, hard), hard))

    def _answer(self, arguments: Any) -> tuple[bool, Any]:
        signal.setitimer(signal.ITIMER_PROF, self.seconds)  # SIGPROF ends even a call of C code
        try:
            return True, self.function(*arguments)
        except JobgenError as error:
            return False, error.problems or str(error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _reason(self, status: int) -> str:
        number = os.WTERMSIG(status)
        if number == signal.SIGPROF:
            return f"it takes more than {self.seconds:g} s"
        if number == signal.SIGKILL:
            return "it was killed, perhaps because the machine had no memory left"
        if number:
            return f"it crashes Python ({signal.strsignal(number)})"
        return OUT_OF_MEMORY


class _TimeIsUp(BaseException):
    """Not an Exception: Jinja evaluates constant expressions, and catches all Exceptions there."""


@contextmanager
def cpu_seconds(seconds: float) -> Iterator[None]:
    """Limit the CPU time of the block; raises TimeoutError at the line that was interrupted.

    One long call of C code, such as the comparison of huge lists, is not interrupted.
    """

    def interrupt(_: int, __: FrameType | None) -> NoReturn:
        raise _TimeIsUp

    previous = signal.signal(signal.SIGVTALRM, interrupt)
    try:
        # Again after a quarter, in case the first was caught.
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds, seconds / 4)
        yield
    except _TimeIsUp as error:
        text = f"it takes more than {seconds:g} s"
        raise TimeoutError(text).with_traceback(error.__traceback__) from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)


def _memory_bound(more: int, soft: int, hard: int) -> int:
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    except OSError:  # not Linux
        return soft
    bound = pages * resource.getpagesize() + more
    return min([bound, *(limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY)])
