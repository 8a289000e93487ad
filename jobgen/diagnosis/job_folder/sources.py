"""The files of a job's folder as sources, one after the other; of a long file, only the end."""

import os
import re
from collections.abc import Iterator
from functools import partial
from io import BytesIO

from jobgen.bounds import JOB_FOLDER_BYTES
from jobgen.diagnosis.engine import DUMP, Source
from jobgen.diagnosis.files import DUMP_NAME, PEEKED, as_word, is_dump, open_plain
from jobgen.diagnosis.job_folder.layout import JobFolder, RankFiles, changed, read_plain
from jobgen.diagnosis.lines.labels import Label

FEWEST = JOB_FOLDER_BYTES >> 11  # bytes of each file, however many files there are
_WHOLE_LINE = 30_000  # bytes
_NO_LABEL = Label()
_LABEL = re.compile(rb" rank \d{1,7}: [^\n]*")


def without_ranks(source: Source, folder: JobFolder) -> Source:
    """A log of the job without the lines that are read from the ranks' own files.

    Each such line stays, but empty, so that other lines keep their numbers. Half a line of a rank
    may stand behind a line of another rank.
    """
    nodes = [node for node in folder.nodes.values() if node.ranks]
    hosts = {node.host.encode("utf-8", "surrogateescape") for node in nodes}
    lengths = set(map(len, hosts))

    def rest(found: re.Match[bytes]) -> bytes:
        """Empty for a rank's line, of which the node's name stays; other text does not change."""
        end = found.start()
        is_rank = any(found.string[max(0, end - n) : end] in hosts for n in lengths)
        return b"" if is_rank else found[0]

    return source._replace(shown=partial(_LABEL.sub, rest)) if hosts else source


def folder_sources(folder: JobFolder) -> Iterator[Source]:
    """The logs of a job's folder; ranks in the order in which they failed, or wrote last."""
    ranks = sorted(
        folder.ranks, key=lambda r: (r.failed_at is None, r.failed_at or 0.0, r.changed, r.path)
    )
    count = 2 * len(ranks) + len(folder.nodes) + len(folder.names)
    most = max(FEWEST, JOB_FOLDER_BYTES // max(1, count))
    for each in ranks:
        for name in ("stderr.log", "stdout.log"):
            if name in each.names:
                yield from _source(os.path.join(each.path, name), most, label_of(each))
        if each.stack:  # counts only if the rank's stderr has no traceback: see verdict.py
            text = each.stack.encode("utf-8", "replace")
            file = as_word(os.path.join(each.path, "error.json"))
            yield Source(file, BytesIO(text), label_of(each))
    for name in sorted(folder.names):
        if name.startswith("set-up."):  # the log of a node whose set-up has not ended
            label = Label(name.removeprefix("set-up."))
            yield from _source(os.path.join(folder.path, name), most, label)
    yield from _source(os.path.join(folder.path, "roll-call"), most)
    for source in _source(os.path.join(folder.path, "stderr"), most):
        yield without_ranks(source, folder)
    yield from _dumps(folder)
    if folder.is_ended_from_outside:
        line = f"jobgen: the job was ended from outside (status {folder.end[0]})"
        yield Source(as_word(os.path.join(folder.path, "status")), BytesIO(line.encode()))


def _dumps(folder: JobFolder) -> Iterator[Source]:
    """The flight recorder's dumps, without those that ranks wrote before they started again."""
    start = folder.last_start
    for node in folder.nodes.values():
        for name in sorted(node.names):
            file = os.path.join(node.path, name)
            is_new = changed(file) >= start
            if is_new and re.search(DUMP_NAME, name) and is_dump(read_plain(file, PEEKED)):
                yield Source(as_word(file), BytesIO(), kind=DUMP)


def label_of(files: RankFiles) -> Label:
    """The label of the lines in a rank's files, according to the place of the files."""
    return Label(files.host, files.rank, files.local_rank, time=files.failed_at)


def _source(path: str, most: int, label: Label = _NO_LABEL) -> Iterator[Source]:
    """A file as a source; none if the file cannot be read."""
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
