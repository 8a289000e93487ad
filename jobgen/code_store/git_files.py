"""What git knows of a folder: the files of its work tree, and the commit."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

from jobgen.errors import JobgenError, problem

_TRACKED = re.compile(rb"([0-7]{6}) [0-9a-f]{40,} [0-3]\t")  # a mode, a name by content, a stage
_SUBMODULE = b"160000"
# Variables by which a hook of git names another repository, or index, than that of a folder.
_OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_COMMON_DIR")

LeftOut = Callable[[bytes, bool], bool]  # a path of the code, and whether git tracks it


def files_by_git(root: bytes, is_left_out: LeftOut, inner: bytes = b"") -> Iterator[bytes] | None:
    """What git tracks in a folder, and what it does not ignore; None outside a work tree.

    `inner` is the folder's path from the code's: "" or that of a submodule, with a / at its end.
    A submodule that is not checked out is named itself. Raises JobgenError for a work tree that git
    cannot read.
    """
    done = _git(root, "ls-files", "-z", "--stage", "--others", "--exclude-standard")
    if done is None:
        folder = Path(os.path.abspath(os.fsdecode(root)))
        if any((each / ".git").exists() for each in (folder, *folder.parents)):
            text = f"{folder} is in a work tree of git, and there is no `git` here"
            raise wrong(text, "install it, or load its module")
        return None
    if done.returncode and b"not a git repository (or any" in done.stderr:
        return None
    if done.returncode:
        first, *others = done.stderr.decode("utf-8", "replace").strip().split("\n")
        hint = f"git says: {others[-1].strip()}" if others else ""
        raise wrong(f"git ls-files: {first.removeprefix('fatal: ')}", hint)
    return _read_names(root, done.stdout, is_left_out, inner)


def _read_names(root: bytes, answer: bytes, is_left_out: LeftOut, inner: bytes) -> Iterator[bytes]:
    for line in filter(None, answer.split(b"\0")):
        found = _TRACKED.match(line)
        name = (line[found.end() :] if found else line).rstrip(b"/")
        path = os.path.join(root, name)
        if is_left_out(inner + name, bool(found)):
            continue
        is_folder = os.path.isdir(path) and not os.path.islink(path)
        if is_folder and (line.endswith(b"/") or (found and found[1] == _SUBMODULE)):
            if os.path.exists(os.path.join(path, b".git")):
                yield from files_by_git(path, is_left_out, inner + name + b"/") or ()
            else:
                yield inner + name
        elif os.path.lexists(path) and not is_folder:
            yield inner + name  # else git tracks it, and it was removed, or is not checked out


def git_state(folder: Path) -> dict[str, str | bool]:
    """The commit of a work tree and whether the folder differs from it; {} without a commit."""
    words = ("status", "--porcelain=v2", "--branch", "-z", "--", ".")
    done = _git(os.fsencode(folder), *words)
    found = re.match(rb"# branch\.oid ([0-9a-f]{40,})\0", done.stdout) if done else None
    if not done or not found:
        return {}
    lines = filter(None, done.stdout.split(b"\0"))
    return {
        "commit": found[1].decode(),
        "differs": not all(line.startswith(b"# branch.") for line in lines),
    }


def _git(root: bytes, *words: str) -> subprocess.CompletedProcess[bytes] | None:
    """A command of git in a folder; None if there is no git on this machine."""
    # The setting could name a program of the repository's author; LC_ALL: messages are read.
    command = ["git", "-c", "core.fsmonitor=false", "-C", os.fsdecode(root), *words]
    environ = {name: value for name, value in os.environ.items() if name not in _OF_A_HOOK}
    environ |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"}
    try:
        return subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=environ, check=False
        )
    except FileNotFoundError:
        return None


def wrong(text: str, hint: str = "") -> JobgenError:
    """The error for code that cannot be copied."""
    return problem("--code", text, "code", hint)
