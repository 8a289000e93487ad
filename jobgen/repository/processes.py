"""One function for many items, in their order: a few in this process, more in several ones."""

import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

from jobgen.errors import JobgenError

ALONE = 1000  # items that this process does itself; it then has read the profiles and templates
BATCH = 500  # items of a child process: starting one takes as long as some 20 items
PART = 50  # items that a child does even if nobody wants them any more
MOST_PROCESSES = 4  # a login node has other users

Item = TypeVar("Item")
Result = TypeVar("Result")

_work: tuple[Callable[[Any], Any], Sequence[Any]]  # of a child: its function, and all items


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
    reported: set[str] = set()
    while batch := list(islice(rest, processes * BATCH)):
        yield from _done_by_children(function, batch, processes, reported)


def _cpus() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def _done_here(
    function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[tuple[Item, Result | JobgenError]]:
    for item in items:
        yield item, _result_of(function, item)


def _result_of(function: Callable[[Item], Result], item: Item) -> Result | JobgenError:
    try:
        return function(item)
    except JobgenError as error:
        return error


def _done_by_children(
    function: Callable[[Item], Result], items: Sequence[Item], processes: int, reported: set[str]
) -> Iterator[tuple[Item, Result | JobgenError]]:
    """Children are copies of this process, which have the items; they report each line once."""
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
    from multiprocessing import get_context

    pool = ProcessPoolExecutor(processes, get_context("fork"), _begin, (function, items))
    done = 0
    try:
        for results, lines in pool.map(_results, range(0, len(items), PART)):
            _report(lines, reported)
            for result in results:
                yield items[done], result
                done += 1
    except (BrokenProcessPool, OSError):  # a child was killed, or there is no room for one
        yield from _done_here(function, items[done:])
    finally:
        pool.shutdown(cancel_futures=True)


def _begin(function: Callable[[Item], Result], items: Sequence[Item]) -> None:
    global _work
    _work = function, items
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Without this, a child whose parent was killed would wait for work for ever."""
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


def _results(first: int) -> tuple[list[Any], str]:
    """The results of PART items, and what was reported meanwhile."""
    function, items = _work
    sys.stderr = io.StringIO()
    results = [_result_of(function, item) for item in items[first : first + PART]]
    return results, sys.stderr.getvalue()


def _report(lines: str, reported: set[str]) -> None:
    for line in lines.splitlines(keepends=True):
        if line not in reported and sys.stderr is not None:
            sys.stderr.write(line)
        reported.add(line)
