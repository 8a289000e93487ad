"""Compiled templates, kept in the user's cache: compiling takes as long as all the rest."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from io import BytesIO
from pathlib import Path

from jinja2 import BytecodeCache, __version__
from jinja2.bccache import Bucket

from jobgen.paths import users
from jobgen.write import replace

# What a compiled template depends on beside its own text: constants in it are quoted already.
_MAKERS = ("render.py", "shell.py")


class Compiled(BytecodeCache):
    """Templates that were compiled before, of the same text by the same jobgen and Jinja.

    What cannot be read or kept is compiled each time; nothing is said of it. Code is taken from no
    folder that somebody else could write to.
    """

    def __init__(self, kind: str) -> None:
        self.kind = kind  # of environment, which is part of the code
        self.folder = users("XDG_CACHE_HOME", ".cache")
        here = Path(__file__).parent
        self.makers = __version__.encode() + b"".join((here / n).read_bytes() for n in _MAKERS)

    def get_source_checksum(self, source: str) -> str:
        return hashlib.sha256(self.makers + source.encode("utf-8")).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            if self._is_ours():
                bucket.bytecode_from_string(self._path(bucket).read_bytes())
        except Exception:  # whatever is in there
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        data = BytesIO()
        bucket.write_bytecode(data)
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._is_ours():
                real = Path(os.path.realpath(self._path(bucket)))
                replace(real, data.getvalue(), 0o600, safe=False)
        except OSError:
            pass

    def _path(self, bucket: Bucket) -> Path:
        return self.folder / f"{bucket.key}.{self.kind}.{sys.implementation.cache_tag}"

    def _is_ours(self) -> bool:
        state = self.folder.lstat()
        others = stat.S_IWGRP | stat.S_IWOTH
        return (
            stat.S_ISDIR(state.st_mode)
            and state.st_uid == os.geteuid()
            and not (state.st_mode & others)
        )
