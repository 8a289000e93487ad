"""Reads a file that grows, piece by piece: it may come late, and begin anew."""

import os
import stat
from contextlib import suppress

from jobgen.diagnosis.lines.census import Census
from jobgen.diagnosis.lines.file_events import File
from jobgen.diagnosis.lines.labels import Label
from jobgen.diagnosis.reader import SAMPLE, LineReader
from jobgen.paths import to_path

_COMPARED = 64  # bytes before the new ones: if they differ, the file was written anew


class GrowingFile:
    """A log that a job may still write; `label` is what its path says of its lines.

    If nobody has named it, since it was found in a folder, no link is followed.
    """

    def __init__(self, path: str, label: Label, census: Census, *, is_named: bool = True) -> None:
        self.path, self.label, self._census = path, label, census
        self._flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
        self._flags |= 0 if is_named else os.O_NOFOLLOW
        self.changed = 0.0  # by the file system's clock
        self.news = b""  # the end of what the last look has read
        self.begins_anew = False
        self.lines: File | None = None  # None before the first look
        self._end = b""
        self._offset = self._inode = 0

    def look(self) -> bool:
        """Read what is new in the file. Returns whether anything is."""
        with suppress(OSError, ValueError):
            # NFS tells a file's length at once only to who opens the file anew.
            descriptor = os.open(to_path(self.path), self._flags)
            with open(descriptor, "rb") as self._stream:
                status = os.fstat(descriptor)
                is_same = status.st_ino == self._inode
                if (is_same and status.st_size == self._offset) or not stat.S_ISREG(status.st_mode):
                    return False
                self._inode, self.changed = status.st_ino, status.st_mtime
                self._read(is_same)
                return True
        return False

    def _read(self, is_same: bool) -> None:
        self._stream.seek(max(0, self._offset - len(self._end)))
        is_longer = is_same and self._stream.read(len(self._end)) == self._end
        self.begins_anew = bool(self.lines) and not is_longer
        old = self._offset if is_longer else 0
        # The labels are known by a file's beginning; as long as it is short, all of it is read.
        if self.lines is None or old < SAMPLE:
            self._offset, self._end = self._stream.seek(0), b""
            self.lines = File(self.path, LineReader(self), self.label, self._census)
        self.lines.read(grows=True)
        self.news = self.news[max(0, len(self.news) - (self._offset - old)) :]

    def read(self, size: int, /) -> bytes:
        """The next bytes of the open file."""
        data = self._stream.read(size)
        self._offset += len(data)
        self._end = (self._end + data)[-_COMPARED:]
        self.news = (self.news + data)[-SAMPLE:]
        return data
