"""One function for many items, in their order: a few in this process, more in several ones."""

from __future__ import annotations

import gc
import io
import os
import pickle
import signal
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import Generic, NamedTuple, NoReturn, TypeVar

from jobgen.errors import JobgenError, Problem
from jobgen.isolation import ChildProcess

ALONE = 1000  # items that this process does itself; it then has read the profiles and templates
BATCH = 500  # items of a child process: starting one takes as long as some 20 items
MOST_PROCESSES = 4  # a login node has other users, and a template may take a GiB in each

BUFFER = 1 << 22  # bytes of results that a child keeps until they are read

Item = TypeVar("Item")
Result = TypeVar("Result")


def results_in_order(
    function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[tuple[Item, Result | JobgenError]]:
    """Each item with what `function` returns for it, or with the JobgenError that it raises.

    The function must not change anything, and its result is pickled.
    """
    rest = iter(items)
    yield from _done_here(function, islice(rest, ALONE))
    processes = min(_cpus(), MOST_PROCESSES)
    if processes < 2:
        yield from _done_here(function, rest)
        return
    running: deque[_Batch[Item, Result]] = deque()
    reported: set[str] = set()
    try:
        while True:
            while len(running) < processes and (batch := list(islice(rest, BATCH))):
                running.append(_Batch(function, batch))
            if not running:
                return
            yield from running[0].results(reported)
            running.popleft()
    finally:
        for each in running:
            each.stop()


def _cpus() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def _done_here(
    function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[tuple[Item, Result | JobgenError]]:
    for item in items:
        try:
            result: Result | JobgenError = function(item)
        except JobgenError as error:
            result = error
        yield item, result


class _Batch(Generic[Item, Result]):
    """Items of which a child process makes results; it is a copy of this one, and gets no input."""

    def __init__(self, function: Callable[[Item], Result], items: Sequence[Item]) -> None:
        self.function = function
        self.items = items
        self.pid = 0
        answers_read, answers_write = os.pipe()
        with suppress(OSError):  # too many processes: `results` finds no answer
            self.pid = os.fork()
            if not self.pid:
                os.close(answers_read)  # else a child whose parent was killed would never end
                self._work(answers_write)
        os.close(answers_write)
        self.answers = os.fdopen(answers_read, "rb")

    def results(self, reported: set[str]) -> Iterator[tuple[Item, Result | JobgenError]]:
        """What `results_in_order` yields; reports what the child does, unless it is `reported`."""
        for number, item in enumerate(self.items):
            try:
                result, lines = pickle.load(self.answers)
            except (EOFError, OSError, pickle.UnpicklingError):  # the child was killed, for example
                yield from _done_here(self.function, self.items[number:])
                break
            if lines and lines not in reported and sys.stderr is not None:
                sys.stderr.write(lines)
            reported.add(lines)
            yield item, JobgenError(result.problems) if isinstance(result, _Failure) else result
        self.stop()

    def stop(self) -> None:
        """End the child, if it still runs."""
        self.answers.close()
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.pid = 0

    def _work(self, answers_write: int) -> NoReturn:
        try:
            signal.signal(signal.SIGINT, signal.SIG_DFL)  # the parent says that it was interrupted
            gc.freeze()
            ChildProcess.forget()
            stderr = sys.stderr = io.StringIO()
            with os.fdopen(answers_write, "wb", BUFFER) as answers:
                for _, result in _done_here(self.function, self.items):
                    if isinstance(result, JobgenError):
                        answer: Result | _Failure = _Failure(result.problems or str(result))
                    else:
                        answer = result
                    pickle.dump((answer, stderr.getvalue()), answers)
                    stderr.seek(0)
                    stderr.truncate()
        finally:
            os._exit(0)


class _Failure(NamedTuple):
    """A JobgenError, which cannot be pickled."""

    problems: list[Problem] | str
