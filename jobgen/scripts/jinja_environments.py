"""Jinja's environments: a plain one for jobgen's own templates, a sandbox for all others.

What Jinja has compiled is kept: compiling takes as long as everything else.
"""

import hashlib
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import jinja2
from jinja2.bccache import Bucket
from jinja2.sandbox import ImmutableSandboxedEnvironment

from jobgen.paths import effective_user, user_folder
from jobgen.scripts.filters import FILTERS, Raw, print_value

# The compiled code depends on these, too: constants in it are quoted already.
_SOURCES = ("scripts/jinja_environments.py", "scripts/filters.py", "quoting.py")
_COMPILED: dict[tuple[str, str, str], bytes] = {}
_COMPILED_MOST = 256  # templates, so that memory does not grow


def _joined(pieces: Any) -> Raw:
    """Jinja joins the pieces of a block, a macro or `super()`: what a template wrote itself."""
    return Raw("".join(pieces))


class Environment(jinja2.Environment):
    """For jobgen's own templates; records which ones a script is made of, with all it includes."""

    concat = staticmethod(_joined)

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.used: list[str] = []

    def get_template(self, name: Any, *others: Any, **more: Any) -> jinja2.Template:
        self.used.append(str(name))
        return super().get_template(name, *others, **more)


class SandboxedEnvironment(Environment, ImmutableSandboxedEnvironment):
    """For templates of a project, of a user, or of --template: no Python runs through them."""


class _InMemory(jinja2.BytecodeCache):
    """Templates that this process compiled before from the same text."""

    def __init__(self, kind: str) -> None:
        self.kind = kind  # of environment, which the code depends on

    def load_bytecode(self, bucket: Bucket) -> None:
        if code := _COMPILED.get((self.kind, bucket.key, bucket.checksum)):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if len(_COMPILED) >= _COMPILED_MOST:
            _COMPILED.clear()
        _COMPILED[self.kind, bucket.key, bucket.checksum] = bucket.bytecode_to_string()


class _InCache(jinja2.FileSystemBytecodeCache):
    """Templates that the same jobgen and Jinja compiled before from the same text.

    If one cannot be read or kept, it is compiled each time, without a message. No code is taken
    from a folder that somebody else could write to.
    """

    def __init__(self, kind: str) -> None:
        folder = user_folder("XDG_CACHE_HOME", ".cache")
        super().__init__(str(folder), f"%s.{kind}.{sys.implementation.cache_tag}")
        self.is_private = _is_private(folder)
        package = Path(__file__).parent.parent
        sources = b"".join((package / name).read_bytes() for name in _SOURCES)
        self.version = jinja2.__version__.encode() + sources

    def get_source_checksum(self, source: str) -> str:
        return hashlib.sha256(self.version + source.encode("utf-8")).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        try:
            if self.is_private:
                super().load_bytecode(bucket)
        except Exception:  # whatever the file holds
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        with suppress(OSError):
            if self.is_private:
                super().dump_bytecode(bucket)


def _is_private(folder: Path) -> bool:
    """Whether only the user can write to the folder, which is created if there is a home."""
    try:
        if folder.parents[1].is_dir():
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        state = folder.lstat()
    except OSError:
        return False
    others = stat.S_IWGRP | stat.S_IWOTH
    is_own = stat.S_ISDIR(state.st_mode) and state.st_uid == effective_user()
    return is_own and not state.st_mode & others


def make_environment(
    loader: jinja2.BaseLoader, is_own: bool, in_memory: bool = False
) -> Environment:
    """The environment for jobgen's own templates, or for others.

    With `in_memory`, no compiled template is read from a file, or written to one.
    """
    kind = Environment if is_own else SandboxedEnvironment
    compiled = _InMemory if in_memory else _InCache
    environment = kind(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        finalize=print_value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        bytecode_cache=compiled("own" if is_own else "sandboxed"),
    )
    environment.filters.update(FILTERS)
    # A script comes out the same each time.
    del environment.filters["random"], environment.globals["lipsum"]
    return environment
