"""Folders with code, for the tests of copies."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from jobgen.code_store.code import read_code
from jobgen.code_store.store import keep
from jobgen.errors import JobgenError
from jobgen.paths import bundled

CHECK = """
fail() { echo "jobgen: n1: $*"; exit 1; }
workspace=$1
. "$2"
check_code
"""


def write(folder: Path, **files: str) -> Path:
    """A folder with files; __ in a name is a /."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def git(folder: Path, *words: str) -> None:
    """Run git as a user without settings."""
    options = ("-c", "protocol.file.allow=always", "-c", "user.name=n", "-c", "user.email=e@e.org")
    subprocess.run(["git", "-C", folder, *options, *words], check=True, capture_output=True)


def work_tree(folder: Path, **files: str) -> Path:
    """A work tree of git, in which all files are tracked."""
    write(folder, **files)
    git(folder, "init", "-q")
    git(folder, "add", "-f", ".")
    git(folder, "commit", "-qm", "x")
    return folder


def names(folder: Path) -> list[str]:
    """The files of a folder's code."""
    return [os.fsdecode(each) for each in read_code(folder).files]


def copy_of(code: Path, store: Path) -> Path:
    """The copy of a folder's code."""
    found = read_code(code)
    keep(found, store)
    return store / "code" / found.name


def checked(copy: Path, before: Sequence[str] = ()) -> str:
    """What the job's script says of a copy; "" if it is what it was."""
    part = bundled("templates") / "machinery/job/code.sh"
    words: list[str | Path] = [*before, "bash", "-euo", "pipefail", "-c", CHECK, "-", copy, part]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout


def refusal(act: Callable[[], object]) -> str:
    """The error of a call."""
    with pytest.raises(JobgenError) as caught:
        act()
    return str(caught.value)
