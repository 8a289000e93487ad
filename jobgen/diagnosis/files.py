"""The files that a person names: a log, a folder of the ranks' logs, stdin."""

import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import BinaryIO

from jobgen.diagnosis.answers import FACTS, answer_of
from jobgen.diagnosis.classes import codes
from jobgen.diagnosis.engine import DUMP, Source, refuse
from jobgen.diagnosis.lines.labels import Label
from jobgen.errors import problem, report
from jobgen.paths import PIPES_OF_SHELLS, to_path, walk

PEEKED = 4096  # bytes at a file's beginning that show what kind of file it is
# The suffixes of logs; the job's number follows the suffixes that the scheduler gives.
LOG = (
    r"(\.(log|txt|out|err|output|error|stdout|stderr)|\.[oe]\d+)([.\-_]?\d+)?$"
    r"|^(stdout|stderr)([.\-_]?\d+|\.[\w.-]+)?$"
)
# torch's names of dumps end with the rank: TORCH_FR_DUMP_TEMP_FILE + RANK.
DUMP_NAME = r"\d(\.(json|pkl|pickle))?$"
_DUMP = (b"pg_config", b"pg_status", b"comm_lib_version", b"nccl_version", b"collective_seq_id")
# Files that a job script makes in the job's folder.
_MARKS = ("status", "roll-call")
# torchrun's: FOLDER/ID/attempt_N/LOCAL RANK/stderr.log
_ATTEMPT = r"(?:^|/)attempt_(?P<attempt>\d{1,4})/(?P<local_rank>\d{1,4})/(?:stdout|stderr)"
_RANK = r"(?:^|[-_./])rank[-_.]?(?P<rank>\d{1,6})(?=[-_./]|$)"
# What a person saved of one node: dmesg-gpu08.txt, journal.gpu08, py-spy_gpu08-rank3.txt
_TOOLS = ("dmesg", "journal", "py", "nvidia-smi")
_OF_NODE = (
    r"(?:dmesg|journal(?:ctl)?|py-?spy|nvidia-smi)[-_.](?!rank|pid)(?P<node>[A-Za-z][\w-]*?\d)"
    r"(?=[-_.]|$)"
)


def sources(paths: Sequence[str]) -> Iterator[Source]:
    """The named files, and the files in named folders, opened one by one. Raises JobgenError."""
    for path in paths:
        if path == "-":
            if sys.stdin is None:
                raise problem("-", "stdin is closed", "unreadable")
            yield Source("stdin", sys.stdin.buffer)
        elif os.path.isdir(to_path(path)):
            yield from _folder(path)
        else:
            yield _file(path)


def is_job_folder(word: str) -> bool:
    """Whether a word names the folder of one job."""
    return any(is_plain(os.path.join(word, name)) for name in _MARKS)


def is_plain(word: str) -> bool:
    """Whether a word names a regular file, and not a link to one."""
    try:
        return stat.S_ISREG(os.lstat(to_path(word)).st_mode)
    except (OSError, ValueError):
        return False


def found_files(paths: Iterable[str]) -> Iterator[Source]:
    """Files that nobody has named: those that were found in a folder, opened one by one."""
    return (_file(path, os.path.dirname(path)) for path in paths)


def only_job_folder(word: str) -> str:
    """The folder of the only job in a folder such as jobgen-logs; "" if there are others, or logs.

    Not here: a folder with the output of several jobs (nodes/many_jobs).
    """
    path = to_path(word)
    names = os.listdir(path) if os.path.isdir(path) and os.access(path, os.R_OK) else []
    found = [each for name in names if is_job_folder(each := as_word(os.path.join(path, name)))]
    has_logs = any(re.search(LOG, name) for name in names)
    return found[0] if len(found) == 1 and not has_logs else ""


def _file(path: str, below: str = "") -> Source:
    """A log or, whatever its name is, a dump or a saved answer.

    Of a file that was found in the folder `below`, no link is followed.
    """
    stream = _opened(path, follows_links=not below)
    start = _start_of(stream, path)
    label = path_label(os.path.relpath(path, below) if below else path)
    if is_dump(start):
        stream.close()
        return Source(path, BytesIO(), kind=DUMP)
    answer = answer_of(start)
    if answer == FACTS and stream.seekable():
        from jobgen.diagnosis.answers.scheduler import facts_in  # few files have answers

        if facts := facts_in(stream):
            stream.close()
            return Source(path, BytesIO(facts), label, FACTS)
    return Source(path, stream, label, "" if answer == FACTS else answer)


def _folder(top: str) -> Iterator[Source]:
    """The logs in a folder and below it, in the order of their names."""
    found = [
        os.path.join(folder, name)
        for folder, _, names in walk(to_path(top), refuse)
        for name in names
        if re.search(LOG, name) or re.search(DUMP_NAME, name)
    ]
    found.sort(key=natural)
    logs = [file for file in found if re.search(LOG, os.path.basename(file))]
    # jobgen's `stderr` of all ranks, with labels, repeats the lines of torchrun's files.
    labelled = tuple(f"{os.path.dirname(f)}/" for f in logs if os.path.basename(f) == "stderr")
    logs = [file for file in logs if not (re.search(_ATTEMPT, file) and file.startswith(labelled))]
    texts = [file for file in logs if _kind(file) == "text"]
    dumps = [file for file in found if re.search(DUMP_NAME, file) and _kind(file) == "dump"]
    if not texts and not dumps:
        raise problem(top, "no logs are in this folder", "empty", "name a file, or another folder")
    _report_several(top, texts)
    for file in [*dumps, *texts]:
        yield _file(as_word(file), top)


def _report_several(top: str, logs: Iterable[str]) -> None:
    """Say that logs are read as those of one job, if no rank or node in their names shows it."""
    names = {
        os.path.join(os.path.dirname(log), re.sub(f"stdout|stderr|{LOG}", "", Path(log).name))
        for log in logs
        if path_label(os.path.relpath(log, top)) == Label()
    }
    if len(names) > 1:
        text = f"logs of {len(names)} different names were read as those of one job"
        report(f"{top}: {text}; if they are of several, name the files of one")


def is_dump(first_bytes: bytes) -> bool:
    """Whether a file with these first bytes is a dump of torch's flight recorder."""
    start = first_bytes[:4000]
    if start[:1] == b"\x80":
        return start[1:2] in (b"\2", b"\3", b"\4", b"\5") and any(f in start for f in _DUMP)
    return start.lstrip()[:2] == b'{"' and any(b'"%s"' % field in start for field in _DUMP)


def as_word(path: str) -> str:
    """A path as a text for messages; names of files may have any bytes."""
    return os.fsencode(path).decode("utf-8", "surrogateescape")


def path_label(path: str) -> Label:
    """The label that a path gives to lines: torchrun's attempt and local rank, a rank, a node."""
    name = Path(path).name
    # Most names have none of these words, and to compile a pattern takes longer than to look.
    found = re.search(_ATTEMPT, path) if "attempt_" in path else None
    rank = re.search(_RANK, name) if "rank" in name else None
    node = re.match(_OF_NODE, name) if name.startswith(_TOOLS) else None
    if not found:
        return Label(node["node"] if node else None, int(rank["rank"]) if rank else None)
    parts = path[: found.start()].split("/")
    host = parts[-2] if len(parts) > 1 else None  # jobgen's paths: NODE/ID/attempt_0/…
    return Label(host, None, int(found["local_rank"]), None, int(found["attempt"]))


def natural(path: str) -> list[tuple[int, str]]:
    """A sort key that compares the numbers in names as numbers."""
    return [(int(p), "") if p.isdigit() else (-1, p) for p in re.split(r"(\d{1,18})", path)]


def _kind(file: str) -> str:
    """`text` for a possible log, or `dump`; "" for others, and for a link, a pipe or a device."""
    descriptor = open_plain(file)
    if descriptor is None:
        return ""
    with open(descriptor, "rb") as stream:
        start = stream.read(PEEKED)
    return "dump" if is_dump(start) else "" if b"\0" in start else "text"


def open_plain(path: str) -> int | None:
    """A descriptor of a regular file; None for a link, a pipe, or an unreadable file."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except (OSError, ValueError):
        return None
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return descriptor
    os.close(descriptor)
    return None


def _opened(path: str, *, follows_links: bool) -> BinaryIO:
    flags = 0 if follows_links else os.O_NOFOLLOW
    try:
        # Opening a pipe waits for its writer.
        if not path.startswith(PIPES_OF_SHELLS) and stat.S_ISFIFO(os.stat(to_path(path)).st_mode):
            raise problem(path, "not a regular file", "unreadable", "name a file, or - for stdin")
        return open(to_path(path), "rb", opener=lambda file, mode: os.open(file, mode | flags))
    except FileNotFoundError:
        from difflib import get_close_matches  # slow to import

        near = get_close_matches(path[:80].lower().replace("_", "-"), codes(), 1)
        hint = "name a file, a folder, a job's number, or a class of failure"
        hint = f"did you mean `{near[0]}`?" if near else hint
        hint = f"a class stands alone: jobgen why {path}" if path in codes() else hint
        raise problem(path, "no such file", "unreadable", hint) from None
    except OSError as error:
        refuse(error, path)


def _start_of(stream: BinaryIO, path: str) -> bytes:
    """The first bytes of a file, which is no device such as /dev/zero, but may be a terminal."""
    mode = os.fstat(stream.fileno()).st_mode
    if stat.S_ISBLK(mode) or (stat.S_ISCHR(mode) and not stream.isatty()):
        raise problem(path, "a device is no log", "unreadable", "name a file, or - for stdin")
    try:
        return stream.peek(PEEKED) if isinstance(stream, BufferedReader) else b""
    except OSError as error:
        refuse(error, path)


def text_source(name: str, lines: Sequence[str]) -> Source:
    """A source of lines that come from no file, such as the scheduler's facts on a job."""
    text = "\n".join(lines).encode("utf-8", "surrogateescape")
    return Source(name, BytesIO(text), kind=FACTS)
