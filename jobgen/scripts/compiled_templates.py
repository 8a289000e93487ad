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

from jobgen.paths import user_folder
from jobgen.scripts.write import replace_file

# The compiled code depends on these, too: constants in it are quoted already.
_SOURCES = ("scripts/environments.py", "scripts/filters.py", "quoting.py")


class CompiledTemplates(BytecodeCache):
    """Templates that the same jobgen and Jinja compiled before from the same text.

    If one cannot be read or kept, it is compiled each time, without a message. No code is taken
    from a folder that somebody else could write to.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind  # of environment, which the code depends on
        self.folder = user_folder("XDG_CACHE_HOME", ".cache")
        package = Path(__file__).parent.parent
        sources = b"".join((package / name).read_bytes() for name in _SOURCES)
        self.version = __version__.encode() + sources

    def get_source_checksum(self, source: str) -> str:
        return hashlib.sha256(self.version + source.encode("utf-8")).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            if self._is_private():
                bucket.bytecode_from_string(self._path(bucket).read_bytes())
        except Exception:  # whatever the file holds
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        data = BytesIO()
        bucket.write_bytecode(data)
        try:
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
            and state.st_uid == os.geteuid()
            and not (state.st_mode & others)
        )
