"""The code of a folder as it was read: its files, the name of its copy, the program in it."""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from os.path import samestat
from pathlib import Path
from typing import NamedTuple

from jobgen.code_store.code_files import CodeFile, code_files, leave_out
from jobgen.code_store.git_files import wrong
from jobgen.errors import JobgenError, Mark, Problem, problem
from jobgen.paths import is_file, is_same_file
from jobgen.planning.job_options import Job
from jobgen.planning.plan import Plan, Software
from jobgen.planning.program import Program
from jobgen.profiles.records import extend
from jobgen.quoting import quote
from jobgen.scripts.header import read_header

NAME_CHARACTERS = 32  # of the 64 of a SHA-256
_LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"
_MODULES = {*sys.stdlib_module_names, "torch"} - {"test"}  # nothing imports Python's own `test`
_RUN_BY_OTHERS = (".py", ".sh")  # an argument of such a name is a program, as in `bash run.sh`


class Code(NamedTuple):
    """The code of a folder, as it was read."""

    folder: Path
    files: dict[bytes, CodeFile]  # by their paths, sorted
    listing: bytes  # what `list_code` of templates/machinery/job/code.sh prints for it

    @property
    def name(self) -> str:
        """The name of its copy."""
        return hashlib.sha256(self.listing).hexdigest()[:NAME_CHARACTERS]

    def placed(self, plan: Plan, within: Path) -> Plan:
        """The plan with the program's path in the copy, if it is a file of the code.

        A folder of the code in PYTHONPATH is that of the copy, too.
        The program is named from the folder `within`. Raises JobgenError if it is not in the code,
        and for a command that would run a file of the code from the working folder.
        """
        program = plan.program
        plan = self._with_paths(plan, within)
        if program.is_file:
            name = self._place_of(program.name, within)
            is_bare = program.kind == "command" and "/" not in name  # would be looked for on PATH
            name = f"./{name}" if is_bare else name
            return plan._replace(program=program._replace(name=name))
        has_paths = any(each.name == "PYTHONPATH" for each in plan.software.environment)
        if program.kind == "module" and not has_paths:
            self._check_module(program.name)
        if program.kind == "command":
            self._check_arguments(program, within)
        return plan

    def advice(self, job: Job, plan: Plan, within: Path) -> Iterator[Problem]:
        """The warnings about files of the code whose names others have, too."""
        yield from self._of_program(job, plan, within)
        for path in map(os.fsdecode, self.files):
            name = path.removesuffix(".py").removesuffix("/__init__")
            if path.endswith(".py") and name in _MODULES:
                text = f"{path} hides a module of the same name from Python and from torch"
                yield Problem(Mark("--code"), text, "program", "give it another name")

    def _of_program(self, job: Job, plan: Plan, within: Path) -> Iterator[Problem]:
        """The warning that another file has the name of the program where the job is submitted."""
        path = os.path.normpath(plan.program.name)
        here, own = within / path, self.files.get(os.fsencode(path))
        is_typed = path in map(os.path.normpath, job.program)
        if not (own and is_typed and is_file(here)) or is_same_file(here, self.folder / path):
            return
        try:
            is_other = hashlib.sha256(here.read_bytes()).hexdigest() != own.digits
        except OSError:
            return  # whether it is another one, is not known
        if is_other:
            text = f"{path} of {self.folder} runs; the file of this name here is another one"
            hint = f"write {quote(str(self.folder / path))}, or copy the folder here: --code ."
            yield Problem(Mark("--"), text, "program", hint)

    def _with_paths(self, plan: Plan, within: Path) -> Plan:
        """The plan, in which a folder of the code in PYTHONPATH is that of the copy."""
        environment = tuple(
            each._replace(
                value=":".join(self._folder(one, within) for one in each.value.split(":"))
            )
            if each.name == "PYTHONPATH" and each.value
            else each
            for each in plan.software.environment
        )
        software = extend(Software, plan.software, environment=environment)
        return plan._replace(software=software)

    def _folder(self, text: str, within: Path) -> str:
        """A folder in the copy, for one of the code; others stay as they are."""
        path = os.path.relpath(within / text.removeprefix("$PWD/"), self.folder)
        is_folder = any(each.startswith(os.fsencode(path) + b"/") for each in self.files)
        return f"$workspace/{path}" if text and is_folder else text

    def _place_of(self, program: str, within: Path) -> str:
        """The path of a program in the copy; one that begins with / or $NAME may be anywhere."""
        if path := self._path(program, within):
            return path
        if program.startswith(("/", "$", "~")):
            return program
        text = f"{program!r:.80} is not in the code of {self.folder}"
        raise problem("--", text, "program", "name a file of it that git does not ignore")

    def _path(self, name: str, within: Path) -> str:
        """The path in the code of a file that is named from `within` or from the code; or ""."""
        real = os.path.relpath(os.path.realpath(within / name), os.path.realpath(self.folder))
        from_within = os.path.relpath(within / name, self.folder)
        paths = (from_within, os.path.normpath(name), real)
        return next((path for path in paths if os.fsencode(path) in self.files), "")

    def _check_module(self, name: str) -> None:
        """Raise JobgenError for a module that is in the folder src of the code."""
        ends = (".py", "/__main__.py", "/__init__.py")
        paths = [f"{name.replace('.', '/')}{end}" for end in ends]
        is_there = any(os.fsencode(path) in self.files for path in paths)
        if not is_there and any(os.fsencode(f"src/{path}") in self.files for path in paths):
            text = f"-m {name:.80} is in the folder src of the code, where Python would not look"
            raise problem("--code", text, "program", f"--code {quote(str(self.folder / 'src'))}")

    def _check_arguments(self, program: Program, within: Path) -> None:
        for word in program.arguments:
            if word.endswith(_RUN_BY_OTHERS) and (path := self._path(word, within)):
                text = f"{program.name:.40} would run {word!r:.80} of the working folder, no copy"
                hint = f"write -- {path}" if path.endswith(".py") else f"chmod +x, and -- ./{path}"
                raise problem("--", text, "program", hint)


def read_code(folder: Path, skipped: Iterable[Path] = ()) -> Code:
    """The code of a folder. Raises JobgenError for what cannot be copied; see `code_files`."""
    root, files, problems = os.fsencode(folder), dict[bytes, CodeFile](), list[Problem]()
    for each in code_files(folder, skipped):
        try:
            data = b"" if each.target is not None else read_file(root, each.path)
        except JobgenError as error:
            problems += error.problems
            continue
        # A script that jobgen made has the name of the copy, and would change it.
        if not ((data.startswith(b"#!/bin/bash") and read_header(data)) or _is_stdout(each, root)):
            digits = hashlib.sha256(data).hexdigest()
            files[each.path] = each._replace(size=len(data), digits=digits)
    if problems:
        raise JobgenError(problems)
    return Code(folder, files, _list(files.values()))


def _list(files: Iterable[CodeFile]) -> bytes:
    """What `list_code` prints for a copy of these files, which are sorted."""
    regular = [each for each in files if each.target is None]
    links = [
        b"link %s ./%s\n" % (each.target, each.path) for each in files if each.target is not None
    ]
    programs = [b"program ./%s\n" % each.path for each in regular if each.executable]
    return b"".join([*map(_sum_line, regular), *sorted(links + programs)])


def _is_stdout(file: CodeFile, root: bytes) -> bool:
    """Whether a file is the empty one that a shell makes for `jobgen … > job.sh`."""
    with suppress(OSError):
        is_empty = file.target is None and not file.size
        return is_empty and samestat(os.stat(os.path.join(root, file.path)), os.fstat(1))
    return False


def read_file(root: bytes, path: bytes) -> bytes:
    """The content of a file of the code. Raises JobgenError."""
    try:
        with open(os.path.join(root, path), "rb", buffering=0) as stream:
            data = stream.readall()
    except OSError as error:
        raise wrong(f"{os.fsdecode(path)}: {error.strerror}", leave_out(path)) from None
    if data.startswith(_LFS_POINTER):
        text = f"{os.fsdecode(path)} is a pointer of Git LFS, and not the file"
        raise wrong(text, f"git lfs pull, or {leave_out(path)}")
    return data


def _sum_line(file: CodeFile) -> bytes:
    r"""The line of sha256sum for a file; one with \ in its name has another one before it."""
    escaped = file.path.replace(b"\\", b"\\\\")
    mark = b"\\" if escaped != file.path else b""
    return b"%s%s  ./%s\n" % (mark, file.digits.encode(), escaped)
