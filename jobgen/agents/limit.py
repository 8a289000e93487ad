"""Runs a command of jobgen that reads one folder: each file that it opens is looked at here.

    python -m jobgen.agents.limit limited|free FOLDER WORDS...

A hook of Python sees each file before it is opened, whichever part of jobgen opens it. It protects
from names that lead out of the folder, in arguments, profiles, links and answers of schedulers. It
does not hold Python code: jobgen runs none of a folder, and templates have Jinja's sandbox.
"""

import os
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from errno import EACCES
from pathlib import Path
from typing import Any

from jobgen import paths
from jobgen.errors import USAGE, report
from jobgen.profiles.search import ProfileSearch

NO_CHANGE = "`jobgen mcp` changes no file without --allow-submit"
LIMITED, FREE = "limited", "free"  # free: for what may submit a job, which reads everything
_LISTS = ("os.listdir", "os.scandir")
_CHANGES = tuple(
    f"os.{name}"
    for name in "chmod chown link mkdir remove rename rmdir symlink truncate utime".split()
)
_TO_WRITE = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
_HANDLE = getattr(os, "O_PATH", 0)  # reads nothing
_CODE = (".py", ".pyc", ".so")


class Limit:
    """What a command may read: a folder, and what each run of jobgen reads. It changes no file."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(os.path.realpath(folder))
        # The user's own files may be links.
        both = (os.path.abspath, os.path.realpath)
        self._own = [path(each) for each in _own_files() for path in both]
        self._code = [os.path.realpath(each) for each in filter(None, sys.path)]
        cache = paths.user_folder("XDG_CACHE_HOME", ".cache")
        self._scratch = [os.path.realpath(each) for each in (cache, tempfile.gettempdir())]

    def is_outside(self, name: str) -> bool:
        """Whether a name of a file, as a person types it, leads out of the folder."""
        path = self.folder / paths.with_home(paths.to_path(name))
        return paths.is_outside(path, self.folder)

    def check(self, event: str, arguments: tuple[Any, ...]) -> None:
        """The hook: raise PermissionError for a file that may not be opened, listed or changed."""
        if event == "open":
            path, _, flags = arguments
            if isinstance(path, (str, bytes)) and not (_HANDLE and flags & _HANDLE):
                self._check_path(path, changes=bool(flags & _TO_WRITE))
        elif event in _LISTS:
            self._check_path(arguments[0] or ".", changes=False)
        elif event in _CHANGES:
            for path in arguments[:2]:
                self._check_path(path, changes=True)
        elif event == "subprocess.Popen" and arguments[1][0] == "git":
            words = [*arguments[1]]  # `git status` would run what the folder's .git/config names
            self._check_path(words[words.index("-C") + 1], changes="ls-files" not in words)

    def _check_path(self, path: Any, changes: bool) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return  # a descriptor of what was opened before
        name = os.fsdecode(path)
        may = self._may_change(name) if changes else self._may_read(name)
        if not may:
            reason = f"it is outside of {self.folder}, the folder of `jobgen mcp`"
            if changes:
                reason = NO_CHANGE
            raise PermissionError(EACCES, reason, name)

    def _may_read(self, name: str) -> bool:
        real = os.path.realpath(name)
        # After a link, `..` leads elsewhere than it seems to.
        named = real if ".." in Path(name).parts else os.path.abspath(name)
        is_code = real.endswith(_CODE) or os.path.isdir(real)
        return (
            _is_in(real, [str(self.folder)])
            or any(_is_in(each, self._own) for each in (real, named))
            or (is_code and _is_in(real, self._code))
        )

    def _may_change(self, name: str) -> bool:
        """Only scratch files; the folder may be in the folder of temporary files, or around it."""
        real, folder = os.path.realpath(name), str(self.folder)
        around = [each for each in (*self._scratch, folder) if _is_in(real, [each])]
        return real == os.devnull or max(around, key=len, default=folder) != folder


def _own_files() -> Iterator[str | Path]:
    """What every run may read: jobgen's files, Python's, and the user's profiles and templates."""
    yield from (os.devnull, Path(paths.__file__).parent, paths.bundled("templates"))
    yield from (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    yield from ProfileSearch().folders[1:]
    yield from (paths.settings_folder() / name for name in ("registry", "templates", "trusted"))
    yield paths.user_folder("XDG_CACHE_HOME", ".cache")  # compiled templates


def _is_in(path: str, folders: list[str]) -> bool:
    return any(path == each or path.startswith(f"{each.rstrip('/')}/") for each in folders)


def main(mode: str, folder: str, *words: str) -> None:
    """Run the command line with these words in the folder; ends this process."""
    import runpy

    # `-m` has put the folder in which this process began before all modules.
    sys.path[:] = [each for each in sys.path if each not in ("", "/")]
    os.chdir(folder)
    paths.stay_below(Path.cwd())
    if mode != FREE:
        sys.addaudithook(Limit(Path.cwd()).check)
    sys.argv = ["jobgen", *words]
    try:
        runpy.run_module("jobgen", run_name="__main__", alter_sys=True)
    except Exception as error:  # an answer is no traceback
        report(f"a fault of jobgen: {type(error).__name__}: {error}")
        sys.exit(USAGE)


if __name__ == "__main__":
    main(*sys.argv[1:])
