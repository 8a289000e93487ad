"""Names of files, as people type them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path()  # the working folder
DEEPEST = 64  # folders; up to Python 3.11, os.walk calls itself for each


def users(variable: str, folder: str) -> Path:
    """jobgen's folder in the user's: $variable/jobgen, else ~/`folder`/jobgen.

    Where neither is a path from /, it is one that cannot be: else a folder called ~ in the working
    folder, which may be a stranger's, would be taken for the user's own.
    """
    for path in (os.environ.get(variable, ""), os.path.expanduser(f"~/{folder}")):
        if os.path.isabs(path):
            return Path(path, "jobgen")
    return Path(os.devnull, "jobgen")


def native(text: str) -> Path:
    """The path that a word of the command line means, whatever the locale's encoding is.

    The words are UTF-8 within jobgen (see `__main__`); the system's calls go by the locale.
    """
    return Path(os.fsdecode(text.encode("utf-8", "surrogateescape")))


def leads_out(path: Path, folder: Path) -> bool:
    """Whether a path, with its links followed, is outside of a folder."""
    root = os.path.realpath(folder)
    return os.path.commonpath([root, os.path.realpath(path)]) != root


def is_name(text: str) -> bool:
    """Whether a text is a name to look for in folders, and no path that leads out of them."""
    return ".." not in Path(text).parts and not text.startswith("/")


def is_file(path: Path) -> bool:
    """Whether there is such a file; a name that none could have is no error."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def walked(
    top: Path | str, skipped: Callable[[OSError], None]
) -> Iterator[tuple[str, list[str], list[str]]]:
    """`os.walk`, to a depth of DEEPEST; `skipped` is told of folders that it does not get into."""
    for folder, folders, files in os.walk(top, onerror=skipped):
        yield folder, folders, files
        if folders and folder.count(os.sep) - str(top).count(os.sep) >= DEEPEST:
            skipped(OSError(0, f"more than {DEEPEST} folders deep", folder))
            folders.clear()
