"""Bounds for a template, which is a program: it may never end, or never stop growing."""

from __future__ import annotations

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NoReturn


class _Late(BaseException):
    """Not an Exception: Jinja tries what is constant in a template, and catches all of those."""


@contextmanager
def bounded(seconds: float, memory: int, last: float) -> Iterator[None]:
    """What is done within gets so many seconds of CPU and bytes of memory more than there are now.

    Raises TimeoutError or MemoryError. One long step of Python's own, such as comparing huge lists,
    cannot be broken off: the kernel then ends the process, after `last` seconds (SIGPROF). Time is
    bounded in the main thread alone, memory on Linux alone.
    """

    def late(_: int, __: FrameType | None) -> NoReturn:
        raise _Late

    try:
        before = signal.signal(signal.SIGVTALRM, late)
    except ValueError:  # not the main thread
        yield
        return
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds, seconds / 4)  # again, if that was caught
        signal.setitimer(signal.ITIMER_PROF, last)
        with _memory(memory):
            yield
    except _Late as error:
        text = f"it takes more than {seconds:g} s"
        raise TimeoutError(text).with_traceback(error.__traceback__) from None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def _memory(more: int) -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_most(more, *before), before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _most(more: int, soft: int, hard: int) -> int:
    try:
        pages = int(Path("/proc/self/statm").read_bytes().split()[0])
    except OSError:
        return soft
    wanted = pages * resource.getpagesize() + more
    return min([wanted, *(limit for limit in (soft, hard) if limit != resource.RLIM_INFINITY)])
