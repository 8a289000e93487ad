"""What makes the environment of a lock, and the name that it has in the store.

The name depends on the lock, on uv's settings beside it, on what the profile tells uv, and on the
nodes' architecture; not on the machine where a script is made.
"""

from __future__ import annotations

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from jobgen.bounds import LOCK_BYTES
from jobgen.paths import is_outside, outside_error, to_path, work_tree
from jobgen.profiles.resolve import Resolved

NAME_CHARACTERS = 32  # of the 64 of a SHA-256
FOLDER = "environments"  # of the store
IMAGE = ".squashfs"  # after the name, for the image of an environment
KEY = "software.lock"
_TOOL_UV = re.compile(r"^\[+tool\.uv\b.*\n(?:(?!\[).*\n?)*", re.MULTILINE)
_LOCAL = re.compile(r'(?m)^name = "(.+)"\n(?:version = .*\n)?source = \{ (\w+) = "(.*)" \}$')


class Locked(NamedTuple):
    """The environment of a lock: its name, and what uv makes it of."""

    name: str
    folder: Path  # of the lock and its pyproject.toml
    python: str | None  # as `uv --python` takes it
    options: tuple[str, ...]  # of `uv sync`
    lock: str

    @property
    def has_torch(self) -> bool:
        """Whether torch is in the lock, perhaps in a group or an extra that is not installed."""
        return '\nname = "torch"\n' in self.lock

    @property
    def local_packages(self) -> dict[str, str]:
        """The packages that are folders here, and their paths: code, whose content no lock has."""
        found = _LOCAL.findall(self.lock)
        kinds = ("editable", "directory", "virtual")
        return {name: path for name, kind, path in found if kind in kinds}


def read_lock(resolved: Resolved, within: Path, confined: bool = False) -> Locked:
    """The environment of a profile's lock, for work in the folder `within`. Raises JobgenError.

    With `confined`, the lock may not be outside that folder.
    """
    software = resolved.profile.software
    lock, code = software.lock, software.code
    assert lock
    file = within / to_path(lock.file)
    if code and not os.path.lexists(file):
        file = within / to_path(code) / to_path(lock.file)
    if confined and is_outside(file, folder := work_tree(within)):
        raise outside_error(KEY, lock.file, folder)
    text = _content(file, resolved)
    project = _content(file.with_name("pyproject.toml"), resolved)
    pinned = file.with_name(".python-version")
    python = lock.python or (_content(pinned, resolved) if pinned.is_file() else "")
    words = (python.strip(), resolved.profile.node.arch or "", *lock.options)
    parts = (text, "".join(_TOOL_UV.findall(project)), *words)
    name = sha256(b"".join(map(_digest, parts))).hexdigest()
    return Locked(name[:NAME_CHARACTERS], file.parent, lock.python, lock.options, text)


def check_architecture(resolved: Resolved, machine: str) -> None:
    """Raise JobgenError if the environment would be for other machines than the nodes."""
    if (arch := resolved.profile.node.arch) not in (None, machine):
        text = f"the nodes are {arch}, and this machine is {machine}"
        raise resolved.conflict("node.arch", text, "run it on a node, or on one like them")


def with_environment(resolved: Resolved, name: str) -> Resolved:
    """The profile with an environment of the store as `venv`, or its image as `stage_from`."""
    software = resolved.profile.software
    place = f"{software.store}/{FOLDER}/{name}"
    if software.stage == "squashfs":
        software = software._replace(stage_from=f"{place}{IMAGE}")
    else:
        software = software._replace(venv=place)
    return resolved._replace(profile=resolved.profile._replace(software=software))


def _digest(text: str) -> bytes:
    return sha256(text.encode("utf-8", "surrogateescape")).digest()


def _content(file: Path, resolved: Resolved) -> str:
    """The text of a lock, or of a file beside it. Raises JobgenError if it cannot be read."""
    hint = "`uv lock` writes uv.lock beside pyproject.toml"
    try:
        if file.exists() and not file.is_file():  # opening a pipe would wait for its writer
            raise resolved.conflict(KEY, f"{file} is no file", hint)
        with file.open("rb") as stream:
            data = stream.read(LOCK_BYTES + 1)
    except OSError as error:
        raise resolved.conflict(KEY, f"{file}: {error.strerror}", hint) from None
    if len(data) > LOCK_BYTES:
        raise resolved.conflict(KEY, f"{file} has more than {LOCK_BYTES} bytes", hint)
    return data.decode("utf-8", "surrogateescape")
