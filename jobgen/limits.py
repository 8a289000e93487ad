"""Bounds for what a stranger's text makes Python do: a template is a program, bash a language.

It may never end, never stop growing, or crash Python itself: it is done in a process of its own.
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

from jobgen.errors import TOO_MUCH, JobgenError


class Ended(Exception):
    """A process has ended without an answer; the text says why."""


class Apart:
    """Does `work` in a process of its own, within so many bytes of memory more than there are now
    and so many seconds of CPU for each question.

    The process is a copy of this one, made for the first question. It answers the next ones, too,
    until it ends; there is one such process at a time, and one that nobody asks any more, since
    this one was killed, ends after its seconds.
    """

    _now: ClassVar[Apart | None] = None

    def __init__(self, work: Callable[..., Any], memory: int, seconds: float) -> None:
        self.work = work
        self.memory = memory
        self.seconds = seconds

    def ask(self, *question: Any) -> Any:
        """What `work` returns. Raises the JobgenError that it raises, or Ended."""
        if Apart._now is not self:
            self._begin()
        try:
            pickle.dump(question, self.questions)
            self.questions.flush()
            done, answer = pickle.load(self.answers)
        except (EOFError, OSError, pickle.UnpicklingError):
            raise Ended(self._why(self.end(0))) from None
        except BaseException:  # such as an interrupt
            self.end()
            raise
        if not done:
            raise JobgenError(answer)
        return answer

    def end(self, by: int = signal.SIGKILL) -> int:
        """End the process, if there is one; how it has ended, as `waitpid` says it."""
        if Apart._now is not self:
            return 0
        Apart._now = None
        for pipe in (self.questions, self.answers):
            with suppress(OSError):  # of a question that nobody reads
                pipe.close()
        os.kill(self.child, by)  # 0 is no signal: it has ended by itself
        return os.waitpid(self.child, 0)[1]

    def _begin(self) -> None:
        if Apart._now:
            Apart._now.end()
        asked, questions = os.pipe()
        answers, told = os.pipe()
        try:
            self.child = os.fork()
        except OSError as error:
            for pipe in (asked, questions, answers, told):
                os.close(pipe)
            raise Ended(f"there is no process for it: {error.strerror}") from None
        if not self.child:
            os.close(questions)
            os.close(answers)
            self._serve(asked, told)
        os.close(asked)
        os.close(told)
        self.questions, self.answers = os.fdopen(questions, "wb"), os.fdopen(answers, "rb")
        Apart._now = self

    def _serve(self, asked: int, told: int) -> NoReturn:
        """Answer until nobody asks; whatever goes wrong, nothing of the parent's is touched."""
        try:
            gc.freeze()
            null = os.open(os.devnull, os.O_WRONLY)
            for stream in {1, 2} - {asked, told}:  # one that was closed may be a pipe now
                os.dup2(null, stream)
            resource.setrlimit(
                resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1])
            )
            soft, hard = resource.getrlimit(resource.RLIMIT_AS)
            resource.setrlimit(resource.RLIMIT_AS, (_most(self.memory, soft, hard), hard))
            with os.fdopen(asked, "rb") as questions, os.fdopen(told, "wb") as answers:
                while True:
                    answer = self._answer(pickle.load(questions))
                    pickle.dump(answer, answers)
                    answers.flush()
                    if not answer[0]:
                        gc.collect()  # Jinja's tracebacks hold each other, and all that was made
        finally:
            os._exit(1)

    def _answer(self, question: Any) -> tuple[bool, Any]:
        signal.setitimer(signal.ITIMER_PROF, self.seconds)  # SIGPROF ends what nothing breaks off
        try:
            return True, self.work(*question)
        except JobgenError as error:
            return False, error.problems or str(error)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def _why(self, status: int) -> str:
        number = os.WTERMSIG(status)
        if number == signal.SIGPROF:
            return f"it takes more than {self.seconds:g} s"
        if number == signal.SIGKILL:
            return "it was killed, as for want of memory"
        if number:
            return f"it crashes Python ({signal.strsignal(number)})"
        return TOO_MUCH


class _Late(BaseException):
    """Not an Exception: Jinja tries what is constant in a template, and catches all of those."""


@contextmanager
def timed(seconds: float) -> Iterator[None]:
    """What is done within gets so many seconds of CPU.

    Raises TimeoutError where it was; not in one long step of Python's own, such as comparing huge
    lists.
    """

    def late(_: int, __: FrameType | None) -> NoReturn:
        raise _Late

    before = signal.signal(signal.SIGVTALRM, late)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds, seconds / 4)  # again, if that was caught
        yield
    except _Late as error:
        text = f"it takes more than {seconds:g} s"
        raise TimeoutError(text).with_traceback(error.__traceback__) from None
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def _most(more: int, soft: int, hard: int) -> int:
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    except OSError:  # no Linux
        return soft
    wanted = pages * resource.getpagesize() + more
    return min([wanted, *(limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY)])
