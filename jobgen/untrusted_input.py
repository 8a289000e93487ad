"""Tries a call with untrusted input in a child process with limits of time and memory."""

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from jobgen.bounds import PARSE_MEMORY, PARSE_SECONDS
from jobgen.errors import problem


def ends_within_bounds(function: Callable[..., object], *arguments: Any) -> bool:
    """Whether a call ends within PARSE_SECONDS of CPU time, with PARSE_MEMORY bytes of memory.

    Another error than MemoryError and RecursionError is an end, too: this process can then make the
    call itself. A browser's page has no processes; it ends the worker in which all of this runs.
    """
    if sys.platform == "emscripten":
        return True
    try:
        child = os.fork()
    except OSError as error:
        text = f"cannot be started: {error.strerror}"
        raise problem("a second process", text, "process", "end others of yours") from None
    if not child:
        _try(lambda: function(*arguments))
    return os.waitpid(child, 0)[1] == 0


def _try(call: Callable[[], object]) -> None:
    """Make the call, and end this process: with status 0 if the call ended within the limits."""
    import signal

    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # faulthandler would write there
        bound_memory()
        signal.setitimer(signal.ITIMER_PROF, PARSE_SECONDS)  # SIGPROF ends even a call of C code
        call()
        status = 0
    except Exception as error:
        status = int(isinstance(error, (MemoryError, RecursionError)))
    finally:
        os._exit(status)


def bound_memory() -> None:
    """Let this process use PARSE_MEMORY bytes more than it has, and write no core dump.

    A program that imports torch, or has threads, may have more than these before.
    """
    import resource  # no browser has it

    own = 0
    with suppress(OSError), open("/proc/self/statm", encoding="ascii") as sizes:  # Linux
        own = int(sizes.read().split()[0]) * resource.getpagesize()

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))
    with suppress(ValueError):  # the system's own limit is lower
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        resource.setrlimit(resource.RLIMIT_AS, (own + PARSE_MEMORY, hard))
