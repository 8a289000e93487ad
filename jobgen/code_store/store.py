"""The store: a folder that all nodes see, with copies of code, each named by its content.

A copy has the files, read-only, and a list of them, whose SHA-256 is the copy's name. The list is
what `list_code` of templates/machinery/job/code.sh prints for the copy: so a job sees whether its
copy still has what was submitted.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
from pathlib import Path
from typing import NamedTuple

from jobgen.code_store.code_files import LIST_FILE, CodeFile, code_files
from jobgen.errors import JobgenError, problem
from jobgen.paths import effective_user
from jobgen.scripts.header import read_header

NAME_CHARACTERS = 32  # of the 64 of a SHA-256
_LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\n"


class Code(NamedTuple):
    """The code of a folder, as it was read."""

    folder: Path
    files: list[CodeFile]
    list: bytes  # what `list_code` prints for it

    @property
    def name(self) -> str:
        """The name of its copy."""
        return hashlib.sha256(self.list).hexdigest()[:NAME_CHARACTERS]

    def place_of(self, program: str, within: Path) -> str:
        """The path in the copy of a program that is named from the folder `within`.

        It may be named from the folder of the code, too; one that begins with / or $NAME may be
        anywhere. Raises JobgenError if it is not in the code.
        """
        paths = {os.fsdecode(each.path) for each in self.files}
        from_within = os.path.relpath(within / program, self.folder)
        for path in (from_within, os.path.normpath(program)):
            if path in paths:
                return path
        if program.startswith(("/", "$", "~")):
            return program
        text = f"{program!r:.80} is not in the code of {self.folder}"
        raise problem("--", text, "program", "name a file of it that git does not ignore")


def read_code(folder: Path) -> Code:
    """The code of a folder. Raises JobgenError for what cannot be copied; see `code_files`."""
    files, sums, others = list[CodeFile](), list[bytes](), list[bytes]()
    for each in code_files(folder):
        if each.target is not None:
            others.append(b"link %s ./%s\n" % (each.target, each.path))
        else:
            data = _content(folder, each)
            if data.startswith(b"#!/bin/bash") and read_header(data):
                continue  # a script that jobgen made has the name of a copy, and would change it
            sums.append(_sum_line(each.path, data))
            if each.executable:
                others.append(b"program ./%s\n" % each.path)
        files.append(each)
    return Code(folder, files, b"".join(sums + sorted(others)))


def _content(folder: Path, file: CodeFile) -> bytes:
    try:
        with open(os.path.join(os.fsencode(folder), file.path), "rb") as stream:
            data = stream.read()
    except OSError as error:
        raise _failed(folder / os.fsdecode(file.path), error) from None
    if data.startswith(_LFS_POINTER):
        text = f"{os.fsdecode(file.path)} is a pointer of Git LFS, and not the file"
        raise problem("--code", text, "code", "git lfs pull")
    return data


def _sum_line(path: bytes, data: bytes) -> bytes:
    r"""The line of sha256sum for a file; one with \ in its name has another one before it."""
    escaped = path.replace(b"\\", b"\\\\")
    mark = b"\\" if escaped != path else b""
    return b"%s%s  ./%s\n" % (mark, hashlib.sha256(data).hexdigest().encode(), escaped)


def store_folder(text: str, within: Path) -> Path:
    """The folder of a store here, as $NAME in it have values. Raises JobgenError."""
    values = {**os.environ, "PWD": os.path.abspath(within)}
    names = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
    if lost := [name for pair in names.findall(text) if (name := "".join(pair)) not in values]:
        hint = f"export {lost[0]}, as on the nodes, or name another folder"
        raise problem("software.store", f"${lost[0]} is not set here", "code", hint)
    return Path(names.sub(lambda found: values[found[1] or found[2]], text)).expanduser()


def keep(code: Code, store: Path) -> None:
    """Make the copy of the code in the store, unless it is there; it appears as a whole.

    Raises JobgenError if it cannot be written, if another user could change it, or if the code
    changes while it is copied.
    """
    try:
        store.mkdir(parents=True, exist_ok=True)
        _refuse_others(store)
        if not (store / code.name).exists():
            _copy(code, store / code.name)
    except OSError as error:
        raise _failed(store, error) from None


def _refuse_others(store: Path) -> None:
    """Raise JobgenError for a store in which another user could change the code of a job."""
    status = store.stat()
    if status.st_uid not in (effective_user(), 0) or status.st_mode & stat.S_IWOTH:
        text = f"another user can write in the store {store}"
        raise problem(
            "software.store", text, "code", f"name a folder of your own, or chmod o-w {store}"
        )


def _copy(code: Code, copy: Path) -> None:
    temporary = copy.with_name(f".{copy.name}.{os.urandom(6).hex()}")
    temporary.mkdir(mode=0o700)
    try:
        for each in code.files:
            _copy_file(code, each, temporary)
        (temporary / LIST_FILE).write_bytes(code.list)
        folders = [folder for folder, _, _ in os.walk(temporary)]
        for folder in folders[1:]:
            os.chmod(folder, 0o555)
        try:
            temporary.rename(copy)
        except OSError:
            if not copy.exists():  # else another submission was faster
                raise
        else:
            copy.chmod(0o555)  # a folder that is read-only cannot be renamed
    finally:
        remove_copy(temporary)


def _copy_file(code: Code, file: CodeFile, copy: Path) -> None:
    path = copy / os.fsdecode(file.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if file.target is not None:
        path.symlink_to(os.fsdecode(file.target))
        return
    data = _content(code.folder, file)
    if _sum_line(file.path, data) not in code.list:
        text = f"{os.fsdecode(file.path)} changes while it is copied"
        raise problem("--code", text, "code", "try again when nothing writes there")
    path.write_bytes(data)
    path.chmod(0o555 if file.executable else 0o444)


def remove_copy(copy: Path) -> None:
    """Remove a copy, whose folders are read-only."""
    for folder, _, _ in os.walk(copy):
        os.chmod(folder, 0o700)
    shutil.rmtree(copy, ignore_errors=True)


def _failed(place: Path, error: OSError) -> JobgenError:
    return problem("--code", f"{error.filename or place}: {error.strerror}", "code")
