"""The files that a person names: a log, a folder of the ranks' logs, stdin."""

from __future__ import annotations

import os
import re
import stat
import sys
from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import BinaryIO

from jobgen.diagnosis.classes import codes
from jobgen.diagnosis.engine import Source
from jobgen.diagnosis.flight_recorder import is_dump
from jobgen.diagnosis.lines.labels import Label
from jobgen.errors import JobgenError, problem
from jobgen.paths import to_path, walk

SCHEDULER = "scheduler"  # the name of what the scheduler says of a job
PEEKED = 4096  # bytes at a file's beginning that show what it is
# The endings of logs; the scheduler's are followed by the job's number.
_LOG = re.compile(
    r"(\.(log|txt|out|err|output|error|stdout|stderr)|\.[oe]\d+|^(stdout|stderr))([.\-_]?\d+)?$"
)
# What all ranks wrote, with labels, for jobgen: stderr, stderr.HOST, stderr.HOST.RANK
_LABELLED = re.compile(r"^(stdout|stderr)(\.[\w.-]+)?$")
# torch's names of dumps end with the rank: TORCH_FR_DUMP_TEMP_FILE + RANK.
DUMP = re.compile(r"\d(\.(json|pkl|pickle))?$")
# torchrun's: FOLDER/ID/attempt_N/LOCAL RANK/stderr.log
_ATTEMPT = re.compile(
    r"(?:^|/)attempt_(?P<attempt>\d{1,4})/(?P<local_rank>\d{1,4})/(?:stdout|stderr)"
)
_RANK = re.compile(r"(?:^|[-_./])rank[-_.]?(?P<rank>\d{1,6})(?=[-_./]|$)")


def sources(paths: Sequence[str]) -> Iterator[Source]:
    """What is to be read, opened one after the other. Raises JobgenError."""
    for path in paths:
        if path == "-":
            yield Source("stdin", _stdin())
        elif os.path.isdir(to_path(path)):
            yield from _folder(path)
        else:
            yield _file(path)


def _file(path: str) -> Source:
    """A log, or a dump of torch's flight recorder, whatever its name is."""
    stream = _opened(path)
    if isinstance(stream, BufferedReader) and is_dump(stream.peek(PEEKED)):
        stream.close()
        return Source(path, BytesIO(), is_dump=True)
    return Source(path, stream, path_label(path))


def _folder(top: str) -> Iterator[Source]:
    """The logs in a folder and below it, in the order of their names."""
    found = [
        os.path.join(folder, name)
        for folder, _, names in walk(to_path(top), _raise)
        for name in names
        if _is_log(name) or DUMP.search(name)
    ]
    found.sort(key=_natural)
    logs = [file for file in found if _is_log(os.path.basename(file))]
    texts = [file for file in _once(logs) if _is_text(file)]
    dumps = [file for file in found if DUMP.search(file) and _is_dump(file)]
    for file in dumps:
        name = os.fsencode(file).decode("utf-8", "surrogateescape")
        yield Source(name, BytesIO(), is_dump=True)
    if not texts and not dumps:
        raise problem(top, "no logs are in this folder", "empty", "name a file, or another folder")
    for file in texts:
        name = os.fsencode(file).decode("utf-8", "surrogateescape")
        yield Source(name, _opened(name), path_label(os.path.relpath(file, to_path(top))))


def _is_log(name: str) -> bool:
    return bool(_LOG.search(name) or _LABELLED.search(name))


def _once(logs: list[str]) -> Iterator[str]:
    """Without torchrun's files of single ranks where jobgen's have the same lines with labels."""
    of_rank = {file for file in logs if _ATTEMPT.search(file)}
    labelled = {
        f"{os.path.dirname(file)}/"
        for file in logs
        if file not in of_rank and _LABELLED.search(os.path.basename(file))
    }
    folders = tuple(labelled)
    for file in logs:
        if file not in of_rank or not file.startswith(folders):
            yield file


def path_label(path: str) -> Label:
    """What a path says of the lines: torchrun's attempt and local rank, a rank, a node's folder."""
    found = _ATTEMPT.search(path)
    if not found:
        rank = _RANK.search(Path(path).name)
        return Label(rank=int(rank["rank"])) if rank else Label()
    parts = path[: found.start()].split("/")
    node = parts[-2] if len(parts) > 1 else None  # jobgen's: NODE/ID/attempt_0/…
    return Label(node, None, int(found["local_rank"]), None, int(found["attempt"]))


def _natural(path: str) -> list[tuple[int, str]]:
    """Numbers in names are compared as numbers."""
    return [(int(p), "") if p.isdigit() else (-1, p) for p in re.split(r"(\d{1,18})", path)]


def _is_text(file: str) -> bool:
    """Whether it may be a log: a regular file, not a link, with no zero byte at its beginning."""
    start = _start(file)
    return start is not None and b"\0" not in start and not is_dump(start)


def _is_dump(file: str) -> bool:
    return is_dump(_start(file) or b"")


def _start(file: str) -> bytes | None:
    """The first bytes of a regular file, no link; None if it cannot be read."""
    try:
        if not stat.S_ISREG(os.lstat(file).st_mode):
            return None
        with open(file, "rb") as stream:
            return stream.read(PEEKED)
    except OSError:
        return None


def _opened(path: str) -> BinaryIO:
    try:
        if "\0" in path:
            raise problem(path, "no file can have this name", "unreadable")
        return open(to_path(path), "rb")
    except FileNotFoundError:
        near = get_close_matches(path[:80], codes(), 1)
        hint = "name a file, a folder, a job's number, - for stdin, or a class of failure"
        hint = f"did you mean `{near[0]}`?" if near else hint
        raise problem(path, "no such file", "unreadable", hint) from None
    except OSError as error:
        raise _unreadable(path, error) from None


def _stdin() -> BinaryIO:
    if sys.stdin is None:
        raise problem("-", "stdin is closed", "unreadable")
    return sys.stdin.buffer


def _raise(error: OSError) -> None:
    raise _unreadable(str(error.filename), error)


def _unreadable(path: str, error: OSError) -> JobgenError:
    return problem(path, f"cannot be read: {error.strerror}", "unreadable")


def text_source(name: str, lines: Sequence[str]) -> Source:
    """Lines that come from no file, such as what the scheduler says of a job."""
    return Source(name, BytesIO("\n".join(lines).encode("utf-8", "surrogateescape")))
