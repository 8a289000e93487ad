"""Compiled templates, kept in the user's cache: compiling takes as long as everything else."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from io import BytesIO
from pathlib import Path

from jinja2 import BytecodeCache, __version__
from jinja2.bccache import Bucket

from jobgen.paths import effective_user, user_folder
from jobgen.scripts.write import replace_file

_IN_MEMORY: dict[str, bytes] = {}  # what this process compiled, by the name of its file
_IN_MEMORY_MOST = 256  # templates, so that memory does not grow
# The compiled code depends on these, too: constants in it are quoted already.
_SOURCES = ("scripts/environments.py", "scripts/filters.py", "quoting.py")


class CompiledTemplates(BytecodeCache):
    """Templates that the same jobgen and Jinja compiled before from the same text.

    If one cannot be read or kept, it is compiled each time, without a message. No code is taken
    from a folder that somebody else could write to. With `in_memory`, no file is read or written,
    and they are kept as long as the process runs.
    """

    def __init__(self, kind: str, in_memory: bool = False) -> None:
        self.kind = kind  # of environment, which the code depends on
        self.in_memory = in_memory
        self.folder = user_folder("XDG_CACHE_HOME", ".cache")
        package = Path(__file__).parent.parent
        sources = b"".join((package / name).read_bytes() for name in _SOURCES)
        self.version = __version__.encode() + sources

    def get_source_checksum(self, source: str) -> str:
        return hashlib.sha256(self.version + source.encode("utf-8")).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            if self.in_memory:
                bucket.bytecode_from_string(_IN_MEMORY[self._path(bucket).name])
            elif self._is_private():
                bucket.bytecode_from_string(self._path(bucket).read_bytes())
        except Exception:  # whatever the file holds
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        data = BytesIO()
        bucket.write_bytecode(data)
        if self.in_memory:
            if len(_IN_MEMORY) >= _IN_MEMORY_MOST:
                _IN_MEMORY.clear()
            _IN_MEMORY[self._path(bucket).name] = data.getvalue()
            return
        try:
            if not self.folder.parents[1].is_dir():
                return  # a home that does not exist is not created
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._is_private():
                path = Path(os.path.realpath(self._path(bucket)))
                replace_file(path, data.getvalue(), 0o600, sync=False)
        except OSError:
            pass

    def _path(self, bucket: Bucket) -> Path:
        return self.folder / f"{bucket.key}.{self.kind}.{sys.implementation.cache_tag}"

    def _is_private(self) -> bool:
        state = self.folder.lstat()
        others = stat.S_IWGRP | stat.S_IWOTH
        return (
            stat.S_ISDIR(state.st_mode)
            and state.st_uid == effective_user()
            and not (state.st_mode & others)
        )
