"""One function for many items, in their order: a few in this process, more in several ones."""

import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any, TypeVar

from jobgen.errors import JobgenError

ALONE = 1000  # items that this process does itself; it then has read the profiles and templates
BATCH = 1000  # items that are kept at a time
PART = 50  # items that a child does even if nobody wants them any more
MOST_PROCESSES = 4  # a login node has other users

Item = TypeVar("Item")
Result = TypeVar("Result")

_work: Callable[[Any], Any]  # of a child


def results_in_order(
    function: Callable[[Item], Result], items: Iterable[Item]
) -> Iterator[tuple[Item, Result | JobgenError]]:
    """Each item with what `function` returns for it, or with the JobgenError that it raises.

    The function must not change anything; items and results are pickled.
    """
    rest = iter(items)
    yield from _done_here(function, islice(rest, ALONE))
    for item in rest:
        yield from _done_by_children(function, chain([item], rest))


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
    function: Callable[[Item], Result], items: Iterator[Item]
) -> Iterator[tuple[Item, Result | JobgenError]]:
    """Children are copies of this process, which has read what most items need."""
    from concurrent.futures.process import BrokenProcessPool, ProcessPoolExecutor
    from multiprocessing import get_context

    processes = min(_cpus(), MOST_PROCESSES)
    with ProcessPoolExecutor(processes, get_context("fork"), _begin, (function,)) as pool:
        while batch := list(islice(items, BATCH)):
            done = 0
            try:
                for result in pool.map(_result_of_child, batch, chunksize=PART):
                    done += 1
                    yield batch[done - 1], result
            except (BrokenProcessPool, OSError):  # a child was killed, or there is no room for one
                yield from _done_here(function, batch[done:])


def _cpus() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not Linux
        return os.cpu_count() or 1


def _begin(function: Callable[[Any], Any]) -> None:
    global _work
    _work = function
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its children
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Without this, a child whose parent was killed would wait for work for ever."""
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


def _result_of_child(item: Any) -> Any:
    return _result_of(_work, item)
