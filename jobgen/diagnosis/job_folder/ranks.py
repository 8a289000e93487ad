"""Which rank of the job wrote which file: torchrun's folders have the number in a node alone.

A rank's number is in its own lines (torch's `[rank3]: `), else in the labels of its node's lines
in the job's `stderr`, else it follows from the order of the nodes.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable
from datetime import datetime
from functools import cache, partial
from typing import Any

from jobgen.diagnosis.job_folder.layout import JobFolder, RankFiles, open_plain, read_start

_OWN = re.compile(rb"^\[rank(\d{1,7})\]:", re.MULTILINE)
_LABEL = re.compile(rb"^(?P<host>[\w.-]{1,255}) rank (?P<rank>\d{1,7}): ", re.MULTILINE)
_SEARCHED = 1 << 18  # bytes at a file's end, and of the job's stderr


def number_ranks(folder: JobFolder) -> None:
    """Set the global rank of each rank's files, where it can be known."""
    labels = cache(partial(_labels, folder))
    for index, host in enumerate(folder.hosts):
        ranks = [each for each in folder.nodes[host].ranks if each.local_rank is not None]
        if not ranks:
            continue
        first = _first_by_own_lines(ranks)
        if first is None:
            first = _first_by_last_lines(folder, host, ranks)
        if first is None:
            first = _first_by_labels(ranks, labels().get(host, set()))
        if first is None and folder.ranks_per_node and folder.facts.get("hosts"):
            first = index * folder.ranks_per_node
        for each in ranks if first is not None else []:
            each.rank = (first or 0) + (each.local_rank or 0)
    _without_replaced(folder)


def _first_by_own_lines(ranks: list[RankFiles]) -> int | None:
    """The number of the node's first rank, as its ranks' tracebacks say it."""
    for each in ranks:
        found = _OWN.search(read_end(os.path.join(each.path, "stderr.log"), _SEARCHED))
        if found and each.local_rank is not None and int(found[1]) >= each.local_rank:
            return int(found[1]) - each.local_rank
    return None


def _first_by_last_lines(folder: JobFolder, host: str, ranks: list[RankFiles]) -> int | None:
    """The same by the label that a rank's last line has in the job's stderr."""
    lines = read_end(os.path.join(folder.path, "stderr"), _SEARCHED * 16)
    for each in ranks:
        end = read_end(os.path.join(each.path, "stderr.log"), 4000)
        last = end.rstrip(b"\n").rpartition(b"\n")[2]
        label = rb"^%s rank (\d{1,7}): %s$" % (re.escape(host.encode()), re.escape(last))
        numbers = {int(number) for number in re.findall(label, lines, re.MULTILINE)}
        if last and len(numbers) == 1 and each.local_rank is not None:
            return max(0, numbers.pop() - each.local_rank)
    return None


def _labels(folder: JobFolder) -> dict[str, set[int]]:
    """The ranks of each node by the labels in the job's stderr."""
    labels: dict[str, set[int]] = {}
    for found in _LABEL.finditer(read_end(os.path.join(folder.path, "stderr"), _SEARCHED * 16)):
        labels.setdefault(found["host"].decode("utf-8", "replace"), set()).add(int(found["rank"]))
    return labels


def _first_by_labels(ranks: list[RankFiles], numbers: Iterable[int]) -> int | None:
    """The same by labels: if there are as many numbers in a row as the node has ranks."""
    numbers = sorted(numbers)
    alike = len(numbers) == len(ranks) == numbers[-1] - numbers[0] + 1 if numbers else False
    return numbers[0] if alike else None


def _without_replaced(folder: JobFolder) -> None:
    """Take out the ranks of a node whose place another node took: a spare, after a loss."""
    last: dict[int, RankFiles] = {}
    for node in folder.nodes.values():
        for each in node.ranks:
            if each.rank is not None:
                other = last.setdefault(each.rank, each)
                if (each.changed, each.attempt) > (other.changed, other.attempt):
                    last[each.rank] = each
    for node in folder.nodes.values():
        node.ranks = [each for each in node.ranks if each.rank is None or last[each.rank] is each]


def read_end(path: str, size: int) -> bytes:
    """The last bytes of a plain file; none if it cannot be read."""
    descriptor = open_plain(path)
    if descriptor is None:
        return b""
    try:
        with open(descriptor, "rb") as stream:
            length = os.fstat(descriptor).st_size
            stream.seek(max(0, length - size))
            return stream.read(size)
    except OSError:
        return b""


class ErrorFile:
    """torchrun's error.json of a rank: its exception, with the time; `time` is None without one."""

    def __init__(self, files: RankFiles) -> None:
        self.path = os.path.join(files.path, "error.json")
        self.time: float | None = None
        self.stack = ""
        text = read_start(self.path) if "error.json" in files.names else ""
        try:
            value: Any = json.loads(text) if text else {}
        except (ValueError, RecursionError):
            value = {}
        message = value.get("message") if isinstance(value, dict) else None
        if isinstance(message, str):
            self.stack = message
        elif isinstance(message, dict):
            self._take(message)

    def _take(self, message: dict[Any, Any]) -> None:
        extra = message.get("extraInfo")
        extra = extra if isinstance(extra, dict) else {}
        stack, text = extra.get("py_callstack"), message.get("message")
        self.stack = next((each for each in (stack, text) if isinstance(each, str) and each), "")
        try:
            seconds = float(extra.get("timestamp"))  # type: ignore[arg-type]
            moment = datetime.fromtimestamp(seconds)
            self.time = (moment - datetime(moment.year, 1, 1)).total_seconds()
            if moment.year % 4 and moment.month > 2:  # lines' times are those of a leap year
                self.time += 86400
        except (TypeError, ValueError, OverflowError, OSError):
            self.time = None
