"""Makes the environment of a lock in the store, by the user's own uv.

It is made under another name and renamed when it is whole, so its own name never has half of it.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path

from jobgen.environment.lock import IMAGE, Locked
from jobgen.errors import problem, report
from jobgen.paths import part_of

COMMAND = "jobgen store build"
_GET_UV = "`pipx install uv`, or see https://docs.astral.sh/uv/getting-started/installation/"
_GET_MKSQUASHFS = "it is of the package squashfs-tools: load its module, or leave out --image"
_LOOK = "import sys; print(sys.version.split()[0])"
_LOOK_AT_TORCH = f"{_LOOK}; import torch; print(torch.__version__)"


def make_environment(locked: Locked, folder: Path) -> Path:
    """Make the environment of a lock in a folder of the store, unless it is there; returns it.

    Raises JobgenError if uv fails, if torch cannot be imported, or if the folder cannot be written.
    """
    place = folder / locked.name

    def make(part: Path) -> None:
        code = {name: path for name, path in locked.local_packages.items() if path != "."}
        for name, path in code.items():
            report(f"{name} is code, in {path}, and not installed: a job has it by --code")
        _run_uv(locked, part)
        found = _versions(locked, part)
        _write_description(locked, part, place, found)
        for inner, _, _ in os.walk(part):  # what a job installed there would be in all others, too
            os.chmod(inner, 0o555)
        part.chmod(0o755)  # a folder that is read-only cannot be renamed
        report(f"made with Python {' and torch '.join(found)}")

    _make(place, make)
    place.chmod(0o555)
    return place


def make_image(locked: Locked, folder: Path) -> Path:
    """Pack the environment as an image, unless it is there; returns it. Raises JobgenError."""

    def make(part: Path) -> None:
        # A node that cannot mount it unpacks it, and must be able to remove the folders again.
        writable = ("-action", "chmod(u+w)@type(d)")
        source = folder / locked.name
        words = ("mksquashfs", source, part, "-quiet", "-noappend", "-no-xattrs", *writable)
        _run(words, os.environ, _GET_MKSQUASHFS)

    return _make(folder / f"{locked.name}{IMAGE}", make)


def _make(place: Path, make: Callable[[Path], None]) -> Path:
    """Make what a place of the store should have, unless it is there; it appears as a whole."""
    try:
        with part_of(place) as part:
            if place.exists():
                report(f"it is there already: {place}")
                return place
            report(f"making {place}")
            make(part)
            try:
                part.rename(place)
            except OSError:
                if not place.exists():  # else another build was faster
                    raise
    except OSError as error:
        file = error.filename or place
        raise problem(COMMAND, f"{file}: {error.strerror}", "environment") from None
    return place


def _run_uv(locked: Locked, part: Path) -> None:
    """Run the user's own uv, whose output is shown; raises JobgenError if it fails."""
    environ = {**os.environ, "UV_PROJECT_ENVIRONMENT": str(part)}
    environ.pop("VIRTUAL_ENV", None)  # uv warns of another one
    if locked.python:
        environ["UV_PYTHON"] = locked.python
    project = ("--project", locked.folder)
    # Its programs find their Python from where they are: it is renamed, and may be staged.
    _run(("uv", "venv", "--quiet", "--relocatable", *project, part), environ, _GET_UV)
    code = [f"--no-install-package={name}" for name in locked.local_packages]
    words = ("uv", "sync", "--frozen", "--no-install-project", *code, "--compile-bytecode")
    _run((*words, *project, *locked.options), environ, _GET_UV)


def _run(words: Sequence[str | Path], environ: Mapping[str, str], get: str) -> None:
    """Run a command, whose output goes to stderr; raises JobgenError if it fails."""
    try:
        status = subprocess.run(words, env=environ, stdout=2, check=False).returncode
    except FileNotFoundError:
        raise problem(COMMAND, f"there is no {words[0]} on PATH", "environment", get) from None
    if status:
        command = " ".join(word for word in words[:2] if isinstance(word, str))
        text = f"{command} ended with status {status}, as it says above; nothing is kept of it"
        raise problem(COMMAND, text, "environment")


def _versions(locked: Locked, part: Path) -> list[str]:
    """The versions of Python and, if it is in the lock, of torch. Raises JobgenError."""
    look = _LOOK_AT_TORCH if locked.has_torch else _LOOK
    words = (part / "bin/python3", "-I", "-c", look)
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().rpartition("\n")[2]
        hint = "the modules of the profile may be needed: load them first"
        if "No module named 'torch'" in last:
            hint = "if it is in an extra or a group: --set software.lock.options=[--extra=NAME]"
        text = f"torch is in the lock, and cannot be imported: {last}"
        raise problem(COMMAND, text, "environment", hint)
    return done.stdout.split()


def _write_description(locked: Locked, part: Path, place: Path, found: list[str]) -> None:
    """Write NAME.json beside the environment: of what it was made, and when."""
    settings = (part / "pyvenv.cfg").read_text()
    described = {
        "lock": sha256(locked.lock.encode("utf-8", "surrogateescape")).hexdigest(),
        "folder": str(locked.folder.absolute()),
        "options": locked.options,
        "python": found[0],
        "torch": found[1] if found[1:] else None,
        "uv": "".join(re.findall(r"(?m)^uv = (.*)$", settings)),
        "made": int(time.time()),
    }
    file = part / "jobgen.json"
    file.write_text(f"{json.dumps(described)}\n")
    file.rename(place.with_name(f"{place.name}.json"))
