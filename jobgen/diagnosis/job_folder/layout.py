"""The files in a job's folder, found within bounds: links, pipes and devices are not followed.

JOB/{roll-call,set-up.HOST,stderr,status}, JOB/orders/*, JOB/HOST/{oom_kill,evidence,keeper}
JOB/HOST/ID_xxxx/attempt_K/LOCAL RANK/{stdout.log,stderr.log,error.json}   torchrun's
JOB/HOST/rank-N/{stdout.log,stderr.log}                                    with other launchers
"""

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from jobgen.bounds import JOB_ENTRIES, JOB_FOLDER_BYTES
from jobgen.diagnosis.files import open_plain
from jobgen.paths import to_path

_SMALL = JOB_FOLDER_BYTES >> 8  # bytes that are read of evidence or error.json, at most
_ATTEMPT = re.compile(r"attempt_(\d{1,6})")
_END = re.compile(r"(\d{1,3})\b(?: after (\d{1,9}) s)?(.*)")
_OF_A_RANK = {"stdout.log", "stderr.log", "error.json"}
_LOCAL = re.compile(r"\d{1,4}")
_RANK = re.compile(r"rank-(\d{1,7})")


@dataclass
class RankFiles:
    """What one rank wrote; `rank` is its global number as soon as it is known."""

    host: str
    path: str  # the rank's folder
    names: frozenset[str]
    local_rank: int | None = None
    rank: int | None = None
    run: str = ""  # torchrun's folder of the run
    attempt: int = 0  # which start of the ranks in this run
    changed: float = 0.0  # when the rank wrote last, by the file system's clock
    stack: str = ""  # the stack of the rank's exception, from torchrun's error.json
    failed_at: float | None = None


@dataclass
class Node:
    """The folder of one node, its own files, and its ranks."""

    host: str
    path: str
    names: frozenset[str] = frozenset()
    ranks: list[RankFiles] = field(default_factory=list)


@dataclass
class JobFolder:
    """A job's folder: its files and its nodes."""

    path: str
    names: frozenset[str]
    nodes: dict[str, Node]
    has_orders_for_stacks: bool

    @property
    def ranks(self) -> list[RankFiles]:
        """The ranks of all nodes."""
        return [each for node in self.nodes.values() for each in node.ranks]

    @property
    def last_start(self) -> float:
        """When torchrun made the folders of the ranks' last start, by the file system's clock."""
        starts = [changed(os.path.dirname(each.path)) for each in self.ranks if each.run]
        return min(starts, default=0.0)

    @property
    def end(self) -> tuple[str, ...]:
        """Exit status and seconds of the job; "was ended from outside" if the script got TERM."""
        found = _END.match(read_start(f"{self.path}/status"))
        return found.groups(default="") if found else ("", "", "")

    @property
    def is_ended_from_outside(self) -> bool:
        """Whether the batch script got TERM: scancel, qdel, the walltime, a preemption."""
        return "outside" in self.end[2]


def read_layout(word: str) -> JobFolder:
    """The layout of a job's folder. Raises OSError if the folder itself cannot be read."""
    top = os.fspath(to_path(word))
    os.scandir(top).close()
    budget = iter(range(JOB_ENTRIES))
    folders, names = _entries(top, budget)
    nodes = {name: _node(budget, name, os.path.join(top, name)) for name in folders}
    orders = nodes.pop("orders").names if "orders" in nodes else frozenset()
    return JobFolder(top, names, nodes, any(name.startswith("stacks") for name in orders))


def _entries(path: str, budget: Iterator[int]) -> tuple[list[str], frozenset[str]]:
    """The folders and the plain files in a folder.

    `budget` bounds how many entries are read, because somebody may have filled the job's folder.
    """
    folders: list[str] = []
    files: list[str] = []
    # OSError: a folder of another user, or a folder that is gone.
    with suppress(OSError), os.scandir(path) as found:
        for entry, _ in zip(found, budget, strict=False):
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.is_file(follow_symlinks=False):
                files.append(entry.name)
    return sorted(folders), frozenset(files)


def _node(budget: Iterator[int], host: str, path: str) -> Node:
    folders, names = _entries(path, budget)
    ranks = [files for name in folders for files in _run(budget, host, os.path.join(path, name))]
    for each in ranks:
        files = (os.path.join(each.path, name) for name in each.names & _OF_A_RANK)
        each.changed = max(map(changed, files), default=0.0)
    # If several torchruns ran on the node, one after the other, the ranks of the last torchrun.
    last = max(ranks, key=lambda each: each.changed).run if ranks else ""
    return Node(host, path, names, [each for each in ranks if each.run == last])


def _run(budget: Iterator[int], host: str, path: str) -> Iterator[RankFiles]:
    """The files of one rank, or of the ranks of one torchrun in their last start."""
    folders, names = _entries(path, budget)
    if found := _RANK.fullmatch(os.path.basename(path)):
        yield RankFiles(host, path, names, rank=int(found[1]))
    attempts = [(int(m[1]), name) for name in folders if (m := _ATTEMPT.fullmatch(name))]
    for attempt, name in sorted(attempts)[-1:]:
        start = os.path.join(path, name)
        for local in filter(_LOCAL.fullmatch, _entries(start, budget)[0]):
            below = os.path.join(start, local)
            names = _entries(below, budget)[1]
            yield RankFiles(host, below, names, int(local), run=path, attempt=attempt)


def changed(path: str) -> float:
    """When a file or a folder changed last; 0 if it does not exist."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0


def read_start(path: str) -> str:
    """The text of a small file; "" if it cannot be read."""
    return read_plain(path, _SMALL).decode("utf-8", "replace")


def read_plain(path: str, size: int, *, at_end: bool = False) -> bytes:
    """The first or last bytes of a plain file; no bytes if it cannot be read."""
    descriptor = open_plain(path)
    if descriptor is None:
        return b""
    with suppress(OSError), open(descriptor, "rb") as stream:
        if at_end:
            stream.seek(max(0, os.fstat(descriptor).st_size - size))
        return stream.read(size)
    return b""
