"""Paths as people type them, jobgen's own folders, and the repository that a file belongs to."""

import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from jobgen.bounds import FOLDER_DEPTH
from jobgen.errors import JobgenError, Mark, problem

WORKING_FOLDER = Path()
is_file = os.path.isfile  # unlike Path.is_file, it returns False for an impossible name
_PART = re.compile(r"\.[0-9a-f]{8,64}\..+")  # what is being made in a store
_DAY = 86400.0  # seconds: nothing takes longer
_highest = [Path("/")]  # see `stay_below`
# A shell gives such names to pipes: <(COMMAND). Who names one wants it to be read.
PIPES_OF_SHELLS = ("/dev/fd/", "/dev/stdin", "/proc/")
# Files that mark a folder as a repository of jobs; the nearest such folder above a file counts.
REPOSITORY_MARKS = (".git", "jobgen.yaml", "profiles/*.yaml", "templates/*.j2")


def effective_user() -> int:
    """Returns the number of the user with whose rights this process runs.

    A browser's page (jobgen/page) has one user, and no os.geteuid.
    """
    return os.geteuid() if hasattr(os, "geteuid") else os.getuid()


@cache
def bundled(kind: str) -> Path:
    """The folder `kind` ("profiles" or "templates") that comes with jobgen.

    A wheel has it in `jobgen/bundled`; an editable install has it in the checkout, but only if
    pyproject.toml is there: a folder of that name in site-packages does not count.
    """
    package = Path(__file__).parent
    inside, checkout = package / "bundled" / kind, package.parent
    if not inside.is_dir() and (checkout / "pyproject.toml").is_file():
        return checkout / kind
    return inside


def user_folder(variable: str, folder: str, environ: Mapping[str, str] | None = None) -> Path:
    """jobgen's folder of a user: $variable/jobgen, else ~/`folder`/jobgen.

    The variables are those of `environ`, or of the process. If neither path is absolute, the result
    is a path that cannot exist: a folder named `~` in the working folder, which may be untrusted,
    must not be taken for the user's own.
    """
    if environ is None:
        home, environ = os.path.expanduser("~"), os.environ
    else:
        home = environ.get("HOME", "")
    for path in (environ.get(variable, ""), os.path.join(home, folder)):
        if os.path.isabs(path):
            return Path(path, "jobgen")
    return Path(os.devnull, "jobgen")


def with_home(path: Path, environ: Mapping[str, str] | None = None) -> Path:
    """Returns a path with the user's home in the place of `~`; for `environ`, see `user_folder`.

    If HOME in `environ` is no absolute path, the result is a path that cannot exist.
    """
    if environ is None or path.parts[:1] != ("~",):
        return Path(os.path.expanduser(path))
    home = environ.get("HOME", "")
    return Path(home if os.path.isabs(home) else os.devnull, *path.parts[1:])


def settings_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of a user's profiles and templates, below $XDG_CONFIG_HOME or ~/.config."""
    return user_folder("XDG_CONFIG_HOME", ".config", environ)


def registry_folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the release of the registry that the user has taken (`profiles update`).

    Without one, it is a path that does not exist. The link `current` is followed, so that a process
    reads one release, also if another is taken meanwhile.
    """
    return Path(os.path.realpath(settings_folder(environ) / "registry" / "current"))


def trusted_folders() -> list[Path]:
    """Returns the folders whose templates may be rendered: the lines of the user's file `trusted`.

    Raises JobgenError if the file cannot be read, and for a line that is no absolute path.
    """
    file = settings_folder() / "trusted"
    try:
        text = file.read_text(encoding="utf-8", errors="surrogateescape")
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise problem(str(file), f"cannot be read: {error.strerror}", "unreadable") from None
    folders = []
    for number, line in enumerate(map(str.strip, text.split("\n")), 1):
        if line and not line.startswith("#"):
            folders.append(with_home(to_path(line)))
            if not folders[-1].is_absolute():
                place = Mark(str(file), number, 1)
                hint = "such as /project/jobs or ~/jobs"
                raise problem(place, f"{line!r:.80} is no absolute path", "value", hint)
    return folders


def to_path(text: str) -> Path:
    """The path that a word of the command line means, whatever the locale's encoding is.

    jobgen keeps words as UTF-8 (see `__main__`); system calls use the locale's encoding.
    """
    return Path(os.fsdecode(text.encode("utf-8", "surrogateescape")))


def is_outside(path: Path, folder: Path) -> bool:
    """Whether a path, with its links followed, is outside a folder."""
    if "\0" in str(path):
        return True  # no file has such a name
    root = os.path.realpath(folder)
    return os.path.commonpath([root, os.path.realpath(path)]) != root


def outside_error(option: str, name: str, folder: Path) -> JobgenError:
    """The error for an option that names a file outside the folder that jobgen is confined to."""
    text = f"{name:.80} is outside {folder}"
    hint = "keep it in the script's repository, or name a profile of the user"
    return problem(option, text, "outside", hint)


def is_plain_name(text: str) -> bool:
    """Whether a text is a name to search for in folders, and cannot lead out of them."""
    return ".." not in Path(text).parts and not text.startswith("/")


def is_same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to one file; a path that leads to no file equals only itself."""
    try:
        return one == other or one.samefile(other)
    except OSError:
        return False


def walk(
    top: Path | str, on_error: Callable[[OSError], None]
) -> Iterator[tuple[str, list[str], list[str]]]:
    """`os.walk` to a depth of FOLDER_DEPTH; `on_error` gets each folder that is not entered."""
    for folder, folders, files in os.walk(top, onerror=on_error):
        yield folder, folders, files
        if folders and folder.count(os.sep) - str(top).count(os.sep) >= FOLDER_DEPTH:
            on_error(OSError(0, f"more than {FOLDER_DEPTH} folders deep", folder))
            folders.clear()


def project_folder(folder: Path, is_fixed: bool = False) -> Path:
    """Returns the folder with the project's `profiles` and `templates`, for work in `folder`.

    It is the repository of `folder`, as for `check`; or `folder` itself, if `is_fixed` or in none.
    """
    if is_fixed:
        return folder
    here = folder.absolute()
    is_repository = any(any(here.glob(mark)) for mark in REPOSITORY_MARKS)
    above = None if is_repository else repository(here)
    return shortest(above) if above else folder


def shortest(folder: Path) -> Path:
    """Returns an absolute folder, or its path from here if that is shorter, for messages."""
    return min(folder, Path(os.path.relpath(folder)), key=lambda path: len(str(path)))


def stay_below(folder: Path) -> None:
    """Search in no folder above an absolute one from now on, in all of this process."""
    _highest[:] = [folder]


def is_highest(folder: Path) -> bool:
    """Whether an absolute folder is the last one of a search upwards."""
    return folder == folder.parent or not folder.parent.is_relative_to(_highest[0])


def upward(folder: Path) -> Iterator[Path]:
    """An absolute folder, and those above it that may be searched."""
    yield folder
    if not is_highest(folder):
        yield from upward(folder.parent)


def repository_or_folder(folder: Path) -> Path:
    """The repository of an absolute folder, or else the folder itself."""
    return repository(folder) or folder


def work_tree(folder: Path) -> Path:
    """The work tree of git that a folder is in, or else the folder itself."""
    return repository(Path(os.path.abspath(folder)), (".git",)) or folder


def repository(folder: Path, marks: Sequence[str] = REPOSITORY_MARKS) -> Path | None:
    """The nearest folder, from an absolute one upwards, with one of the marks.

    A mark counts only if it belongs to the user, to root or to the folder's owner: profiles and
    templates that anybody can put into /tmp do not make it the repository of a folder below it.
    """
    trusted = {effective_user(), 0, _owner(folder)}
    return next(
        (
            each
            for each in upward(folder)
            if any(_owner(f) in trusted for mark in marks for f in each.glob(mark))
        ),
        None,
    )


def _owner(path: Path) -> int | None:
    try:
        return path.lstat().st_uid
    except OSError:
        return None


@contextmanager
def part_of(place: Path) -> Iterator[Path]:
    """A hidden path beside a place of a store, to make there what then appears as a whole.

    What remains of it is removed, and also what others left there that were killed.
    """
    remove_dead(place.parent)
    number = os.urandom(6).hex()
    part = place.with_name(f".{place.name}.{number}.{os.uname().nodename}.{os.getpid()}")
    try:
        yield part
    finally:
        remove(part)


def remove_dead(folder: Path) -> None:
    """Remove what nobody makes any more: its process here has ended, or it is older than a day."""
    of_this_machine = re.compile(rf".*\.{re.escape(os.uname().nodename)}\.(\d+)")
    for part in filter(lambda each: _PART.fullmatch(each.name), [*folder.iterdir()]):
        found = of_this_machine.fullmatch(part.name)
        with suppress(OSError):
            is_old = time.time() - part.lstat().st_mtime > _DAY
            if is_old or (found and not Path("/proc", found[1]).exists()):
                remove(part)


def remove(path: Path) -> None:
    """Remove a file, or a folder with folders that may be read-only, if it is there and can be."""
    with suppress(OSError):
        if path.is_symlink() or not path.is_dir():
            path.unlink()
            return
        for folder, _, _ in os.walk(path):
            os.chmod(folder, 0o700)
        shutil.rmtree(path)
