"""Finds the files that may be job scripts, and reads them."""

import os
import re
import stat
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path

from jobgen.bounds import LINT_BYTES, PARSE_MEMORY, PARSE_SECONDS
from jobgen.errors import JobgenError, Mark, Problem, problem
from jobgen.lint.documents import is_document
from jobgen.paths import PIPES_OF_SHELLS, is_outside, repository, to_path, walk
from jobgen.runs.records import left_by_jobs

# The suffixes of shell scripts. Other files of a folder, such as README, are job scripts only if
# they begin like a job script.
SUFFIXES = frozenset(
    """
    .sh .bash .sbatch .slurm .pbs .qsub .job .sub .run .sl .slm .slr .slrm .batch .sb .srun .cmd
    .q .qs .script .submit
    """.split()
)
_TEMPLATES = frozenset(
    ".in .j2 .jinja .jinja2 .tmpl .tpl .erb .mustache .example .sample .dist".split()
)
_HEAD_BYTES = 8192  # read of a file with another suffix, to see whether it is a job script
_DIRECTIVE = re.compile(rb"^[ \t]*#(SBATCH|PBS)[ \t]", re.MULTILINE)
# A job script: only blank lines and comments come before its first directive.
_JOB_SCRIPT = re.compile(rb"(?:\xef\xbb\xbf)?(?:[ \t\r]*(?:#[^\n]*)?\n)*?[ \t]*#(SBATCH|PBS)[ \t]")
_SHELL = re.compile(rb"(?:\xef\xbb\xbf)?#![^\n]*sh\b")
_repository = cache(repository)  # most files of a run are in few folders


def find_files(
    paths: Sequence[str], on_error: Callable[[OSError], None]
) -> Iterator[tuple[str, bool]]:
    """Each file, and whether the user named the file itself; `on_error` gets errors of folders."""
    for path in paths:
        if path != "-" and "\0" not in path and os.path.isdir(to_path(path)):
            top = os.fsdecode(path.encode("utf-8", "surrogateescape"))
            for file in _files_below(top, on_error):
                yield os.fsencode(file).decode("utf-8", "surrogateescape"), False
        else:
            yield path, True


def _files_below(top: str, on_error: Callable[[OSError], None]) -> Iterator[str]:
    for folder, folders, names in walk(top, on_error):
        of_jobs = left_by_jobs(folder, folders, names)
        folders[:] = sorted(name for name in folders if not (name in of_jobs or _is_skipped(name)))
        for name in sorted(names):
            file = os.path.join(folder, name)
            if not _is_skipped(name) and _is_candidate(file):
                yield file


def _is_skipped(name: str) -> bool:
    """Whether it is hidden or a template: none of these is submitted."""
    is_template = "template" in name.lower() or Path(name).suffix.lower() in _TEMPLATES
    return name.startswith(".") or is_template


def _is_candidate(file: str) -> bool:
    """Whether a file has the suffix of a shell script, or directives in its text."""
    is_named_so, shows_scripts = Path(file).suffix.lower() in SUFFIXES, is_document(file)
    try:
        state = os.lstat(file)  # a link may lead to another person's file, which lint would quote
        is_readable = stat.S_ISREG(state.st_mode) and state.st_size <= LINT_BYTES
        if is_named_so or not is_readable:
            return is_readable
        with open(file, "rb") as stream:
            head = stream.read(LINT_BYTES if shows_scripts else _HEAD_BYTES)
    except OSError as error:  # `read_file` reports an unreadable script
        return is_named_so and isinstance(error, PermissionError)
    if shows_scripts:
        return bool(_DIRECTIVE.search(head))
    is_shell = _SHELL.match(head) and _DIRECTIVE.search(head)
    return b"\0" not in head and bool(is_shell or _JOB_SCRIPT.match(head))


def has_directives(data: bytes) -> bool:
    """Whether a file has directives, also in UTF-16, whose zero bytes are left out."""
    return bool(_DIRECTIVE.search(data.replace(b"\0", b"")))


def read_file(path: str) -> bytes:
    """The bytes of a file, or of stdin for "-". Raises JobgenError."""
    if path == "-" and sys.stdin is None:
        raise unreadable("-", "stdin is closed")
    if path == "-":
        return sys.stdin.buffer.read()
    file, is_pipe = to_path(path), path.startswith(PIPES_OF_SHELLS)
    data = read_bounded(file, path, "is it a script?", is_pipe)
    within = None if is_pipe else _repository(Path(os.path.abspath(file)).parent)
    if within and is_outside(file, within):
        raise problem(path, f"a link out of {within}", "outside", "name the file itself")
    return data


def read_bounded(file: str | Path, name: str, hint: str = "", is_pipe: bool = False) -> bytes:
    """The bytes of a regular file, or of a pipe. Raises JobgenError about the file `name`."""
    try:
        if not is_pipe and not stat.S_ISREG(os.stat(file).st_mode):
            raise unreadable(name, "not a regular file")  # opening a pipe waits for its writer
        with open(file, "rb") as stream:
            data = stream.read(LINT_BYTES + 1)
    except OSError as error:
        raise unreadable(name, f"cannot be read: {error.strerror}") from None
    except ValueError:
        raise unreadable(name, "no file can have this name") from None
    if len(data) > LINT_BYTES:
        raise unreadable(name, f"it has more than {LINT_BYTES} bytes", hint)
    return data


_YAML = "for a profile: `jobgen profiles validate FILE`; for a manifest: `jobgen build -n FILE`"
_OTHER_FILES = {
    ".py": ("a Python program", "lint reads job scripts: name the one that starts it"),
    ".ipynb": ("a notebook", "lint reads job scripts"),
    ".yaml": ("a YAML file", _YAML),
    ".yml": ("a YAML file", _YAML),
}


# A text from which a script is made: for Jinja, autoconf and such, or for sed.
_MADE_FROM = re.compile(rb"\{\{.*\}\}|\{%.*%\}|<%.*%>|@[A-Z][A-Z_]+@")
_FOR_SED = re.compile(rb"(?!#!)(.*\n)*?#(SBATCH|PBS)[ \t].*<\w[\w -]*>")


def check_is_script(path: str, data: bytes) -> Problem | None:
    """A note on a Makefile, or on a text from which a script is made; None for any other file.

    Raises JobgenError for a Python file, notebook or YAML, by its suffix, without directives.
    """
    name, suffix = os.path.basename(path).lower(), Path(path).suffix.lower()
    if name in ("makefile", "gnumakefile") or suffix == ".mk":
        return Problem(Mark(path), "a Makefile is no script", "skipped", "lint reads job scripts")
    is_for_sed = _FOR_SED.match(data) and _is_filled_by_sed(Path(path))
    if is_for_sed or (suffix in _TEMPLATES and _MADE_FROM.search(data)):
        text = "a template, which something else makes a script of"
        return Problem(Mark(path), text, "skipped", "lint that script")
    text, hint = _OTHER_FILES.get(Path(path).suffix.lower(), ("", ""))
    if text and not has_directives(data):
        raise unreadable(path, text, hint)
    return None


def _is_filled_by_sed(path: Path) -> bool:
    """Whether a script beside a file gives the file to sed."""
    try:
        beside = [each for each in path.parent.iterdir() if each.suffix.lower() in SUFFIXES]
        return any(each != path and _has_sed(each, os.fsencode(path.name)) for each in beside)
    except OSError:
        return False


def _has_sed(file: Path, name: bytes) -> bool:
    """Whether a script, unless it is too large, has sed and the name of a file in its text."""
    state = file.stat()
    if not stat.S_ISREG(state.st_mode) or state.st_size > LINT_BYTES:
        return False
    text = file.read_bytes()
    return name in text and bool(re.search(rb"\bsed\b", text))


def unreadable(path: str, text: str, hint: str = "") -> JobgenError:
    """The error for a file that cannot be read."""
    return problem(path, text, "unreadable", hint)


def out_of_bounds(path: str, hint: str = "") -> JobgenError:
    """The error for a file that cannot be parsed within the bounds of time and memory."""
    text = f"cannot be parsed within {PARSE_SECONDS} s and {PARSE_MEMORY >> 30} GiB"
    return unreadable(path, text, hint)
