"""Finds which rank of the job wrote which file: torchrun's folders have only the local rank.

A rank's number is in its own lines (torch's `[rank3]: `), else in the labels of its node's lines
in the job's `stderr`.
"""

import json
import os
import re
from typing import Any

from jobgen.diagnosis.job_folder.layout import JobFolder, RankFiles, read_plain, read_start
from jobgen.diagnosis.lines.labels import time_of

_OWN = re.compile(rb"^\[rank(\d{1,7})\]:", re.MULTILINE)
_LABEL = re.compile(
    rb"^(?P<host>[\w.-]{1,255}) rank (?P<rank>\d{1,7}): (?P<line>.*)$", re.MULTILINE
)
_SEARCHED = 1 << 18  # bytes at a file's end; 16 times as many of the job's stderr


def number_ranks(folder: JobFolder) -> None:
    """Set the global rank of each rank's files, where it can be known."""
    labels = _labels(folder)
    for host, node in folder.nodes.items():
        ranks = {each.local_rank: each for each in node.ranks if each.local_rank is not None}
        first = _first_number(ranks, labels.get(host, {}))
        for local_rank, each in ranks.items() if first is not None else ():
            each.rank = (first or 0) + local_rank
    # After a loss, a spare node may take a node's place: only the last files of a rank count.
    last: dict[int | None, RankFiles] = {}
    for each in sorted(folder.ranks, key=lambda each: (each.changed, each.attempt), reverse=True):
        last.setdefault(each.rank, each)
    for node in folder.nodes.values():
        node.ranks = [each for each in node.ranks if each.rank is None or last[each.rank] is each]


def _labels(folder: JobFolder) -> dict[str, dict[bytes, set[int]]]:
    """The lines of each node in the job's stderr, with the ranks in their labels."""
    lines: dict[str, dict[bytes, set[int]]] = {}
    for found in _LABEL.finditer(_end_of(folder.path, "stderr", size=_SEARCHED * 16)):
        node = lines.setdefault(found["host"].decode("utf-8", "replace"), {})
        node.setdefault(found["line"], set()).add(int(found["rank"]))
    return lines


def _first_number(ranks: dict[int, RankFiles], lines: dict[bytes, set[int]]) -> int | None:
    """The global number of a node's first rank, from a traceback of one of the node's ranks.

    Else from the label of a rank's last line; else, if all its ranks have labels, from these.
    """
    ends = {local_rank: _end_of(each.path, "stderr.log") for local_rank, each in ranks.items()}
    for local_rank, end in ends.items():
        if (found := _OWN.search(end)) and int(found[1]) >= local_rank:
            return int(found[1]) - local_rank
    for local_rank, end in ends.items():
        last = end.rstrip(b"\n").rpartition(b"\n")[2]
        if last and len(numbers := lines.get(last, set())) == 1:
            return max(0, min(numbers) - local_rank)
    numbers = set().union(*lines.values())
    has_all = numbers and len(numbers) == len(ranks) == max(numbers) - min(numbers) + 1
    return min(numbers) if has_all else None


def _end_of(*path: str, size: int = _SEARCHED) -> bytes:
    return read_plain(os.path.join(*path), size, at_end=True)


def read_error_file(files: RankFiles) -> None:
    """Set the stack and the time of a rank's exception, if its error.json is whole."""
    try:
        value: Any = json.loads(read_start(os.path.join(files.path, "error.json")) or "{}")
    except (ValueError, RecursionError):
        return
    message = value.get("message") if isinstance(value, dict) else None
    fields = message if isinstance(message, dict) else {"message": message}
    extra = fields.get("extraInfo")
    extra = extra if isinstance(extra, dict) else {}
    stacks = (extra.get("py_callstack"), fields.get("message"))
    files.stack = next((each for each in stacks if isinstance(each, str) and each), "")
    files.failed_at = time_of(extra.get("timestamp"))
