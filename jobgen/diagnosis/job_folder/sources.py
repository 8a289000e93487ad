"""What is read of a job's folder, one file after the other; of a long file, the end alone."""

import os
import re
from collections.abc import Iterator
from io import BufferedIOBase, BytesIO
from typing import BinaryIO, cast

from jobgen.diagnosis.engine import Source
from jobgen.diagnosis.files import DUMP, PEEKED, as_word, is_dump
from jobgen.diagnosis.job_folder.layout import JobFolder, RankFiles, changed, open_plain, read_plain
from jobgen.diagnosis.job_folder.ranks import ErrorFile
from jobgen.diagnosis.lines.labels import Label
from jobgen.limits import JOB_FOLDER_BYTES

FEWEST = JOB_FOLDER_BYTES >> 11  # bytes of each file, however many there are
_WHOLE_LINE = 30_000  # bytes
_NO_LABEL = Label()
_LABEL = re.compile(rb" rank \d{1,7}: [^\n]*")


class WithoutRanks(BufferedIOBase):
    """A stream of all ranks' lines without those of ranks that have a file of their own.

    Each line stays, empty, so that the others keep their numbers. Half a line of a rank may stand
    behind another one's.
    """

    def __init__(self, stream: BinaryIO, hosts: list[str]) -> None:
        self._stream = stream
        self._hosts = {host.encode("utf-8", "surrogateescape") for host in hosts}
        self._lengths = {len(host) for host in self._hosts}

    def read(self, size: int | None = -1) -> bytes:
        """Some whole lines."""
        block = self._stream.read(size if size is not None else -1)
        if block and not block.endswith(b"\n"):
            block += self._stream.readline(_WHOLE_LINE)
        return _LABEL.sub(self._cut, block) if self._hosts and b" rank " in block else block

    def _cut(self, found: re.Match[bytes]) -> bytes:
        """Nothing in the place of a rank's line; the name of its node stays before it."""
        end = found.start()
        if any(found.string[max(0, end - n) : end] in self._hosts for n in self._lengths):
            return b""
        return found[0]

    def close(self) -> None:
        """Close the stream below it, too."""
        self._stream.close()
        super().close()


def without_ranks(source: Source, folder: JobFolder) -> Source:
    """A log of the job without the lines that are read from the ranks' own files."""
    hosts = [host for host, node in folder.nodes.items() if node.ranks]
    return source._replace(stream=cast("BinaryIO", WithoutRanks(source.stream, hosts)))


def folder_sources(folder: JobFolder, errors: dict[str, ErrorFile]) -> Iterator[Source]:
    """The logs of a job's folder; ranks in the order in which they failed, or wrote last."""
    ranks = sorted(folder.ranks, key=lambda each: _order(each, errors))
    count = 2 * len(ranks) + len(folder.nodes) + len(folder.names)
    most = max(FEWEST, JOB_FOLDER_BYTES // max(1, count))
    for each in ranks:
        yield from _rank_sources(each, most, errors[each.path])
    for node in folder.nodes.values():
        if "keeper" in node.names:
            yield from _source(os.path.join(node.path, "keeper"), most)
    for name in sorted(folder.names):
        if name.startswith("set-up."):  # of a node whose set-up has not come to its end
            host = name.removeprefix("set-up.")
            yield from _source(os.path.join(folder.path, name), most, Label(host))
    yield from _source(os.path.join(folder.path, "roll-call"), most)
    for source in _source(os.path.join(folder.path, "stderr"), most):
        yield without_ranks(source, folder)
    yield from _dumps(folder)
    if folder.is_ended_from_outside:
        text = f"jobgen: the job was ended from outside (status {folder.end[0]})"
        yield Source(as_word(os.path.join(folder.path, "status")), BytesIO(text.encode()))


def _dumps(folder: JobFolder) -> Iterator[Source]:
    """The flight recorder's dumps, without those that ranks wrote before they started again."""
    start = folder.last_start
    places = [(folder.path, folder.names)]
    for node in folder.nodes.values():
        places += [(node.path, node.names), *((each.path, each.names) for each in node.ranks)]
    for path, names in places:
        for name in sorted(names):
            file = os.path.join(path, name)
            is_new = changed(file) >= start
            if is_new and re.search(DUMP, name) and is_dump(read_plain(file, PEEKED)):
                yield Source(as_word(file), BytesIO(), is_dump=True)


def _order(files: RankFiles, errors: dict[str, ErrorFile]) -> tuple[bool, float, float, str]:
    time = errors[files.path].time
    return time is None, time or 0.0, files.changed, files.path


def label_of(files: RankFiles) -> Label:
    """What the place of a rank's files says of their lines."""
    return Label(files.host, files.rank, files.local_rank)


def _rank_sources(files: RankFiles, most: int, error: ErrorFile) -> Iterator[Source]:
    for name in ("stderr.log", "stdout.log"):
        if name in files.names:
            yield from _source(os.path.join(files.path, name), most, label_of(files))
    if error.stack:  # its own line only if the rank's stderr has no traceback: see verdict.py
        text = error.stack.encode("utf-8", "replace")
        yield Source(as_word(error.path), BytesIO(text), label_of(files))


def _source(path: str, most: int, label: Label = _NO_LABEL) -> Iterator[Source]:
    """One, or none if the file cannot be read."""
    descriptor = open_plain(path)
    if descriptor is None:
        return
    stream = open(descriptor, "rb")  # noqa: SIM115  its reader closes it
    length = os.fstat(descriptor).st_size
    name = as_word(path)
    if length > most:
        stream.seek(length - most)
        stream.readline(_WHOLE_LINE)
        name = f"{name} (its last {most >> 10} KiB)"
    yield Source(name, stream, label)
