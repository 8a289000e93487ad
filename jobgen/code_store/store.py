"""The store: a folder that all nodes see, with copies of code, each named by its content.

A copy has the files, read-only, and a list of them, whose SHA-256 is the copy's name. The list is
what `list_code` of templates/machinery/job/code.sh prints for the copy: so a job sees whether its
copy still has what was submitted. NAME.json beside it says where the copy is from; its time is the
last use of the copy.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from jobgen.code_store.code import Code, read_file
from jobgen.code_store.code_files import LIST_FILE, CodeFile
from jobgen.code_store.git_files import git_state, wrong
from jobgen.errors import problem
from jobgen.paths import effective_user, with_home
from jobgen.profiles.model import Profile
from jobgen.scripts.write import replace_file

OURS = ".jobgen"  # the folder of the default store, which git should not see


def store_folder(text: str, within: Path, environ: Mapping[str, str] | None = None) -> Path:
    """The folder of a store here, as $NAME in it have values; `within` is $PWD of the job.

    Raises JobgenError for a variable that is not set.
    """
    values = {**(os.environ if environ is None else environ), "PWD": os.path.abspath(within)}
    names = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
    if lost := [name for pair in names.findall(text) if (name := "".join(pair)) not in values]:
        hint = f"export {lost[0]}, as on the nodes, or name another folder"
        raise problem("software.store", f"${lost[0]} is not set here", "code", hint)
    return with_home(Path(names.sub(lambda found: values[found[1] or found[2]], text)), environ)


def store_of(profile: Profile, within: Path, environ: Mapping[str, str] | None = None) -> Path:
    """The store here of a profile's jobs, which are submitted from `within`. Raises JobgenError."""
    working = within / store_folder(profile.request.chdir or ".", within, environ)
    return working / store_folder(profile.software.store, working, environ)


def make_store(store: Path) -> None:
    """Make the folder of a store, unless it is there; git passes over what is made here.

    Raises JobgenError if another user could change what is in it, and OSError.
    """
    made = store.parent if store.parent.name == OURS else store
    if not made.exists():
        made.mkdir(parents=True, exist_ok=True)
        (made / ".gitignore").write_text("*\n")
    store.mkdir(exist_ok=True)
    refuse_others(store)


def folder_in(store: Path, name: str) -> Path:
    """A folder of the store, which is made unless it is there.

    Raises JobgenError if it cannot be made, or if another user could change what is in it.
    """
    try:
        make_store(store)
        (store / name).mkdir(exist_ok=True)
        refuse_others(store / name)
    except OSError as error:
        text = f"{error.filename or store}: {error.strerror}"
        raise problem("software.store", text, "code", "name another folder") from None
    return store / name


def refuse_others(folder: Path) -> None:
    """Raise JobgenError for a folder of a store in which another user could change something."""
    for each in (folder, *folder.resolve().parents):
        status = each.stat()
        is_own = status.st_uid in (effective_user(), 0) or each != folder
        # In a folder such as /tmp, whose sticky bit is set, nobody renames what others have there.
        is_shared = status.st_mode & stat.S_IWOTH
        if not is_own or (is_shared and (each == folder or not status.st_mode & stat.S_ISVTX)):
            text = f"another user can write in {each}, and change the code of your jobs"
            hint = f"name a store in a folder of your own, or chmod o-w {each}"
            raise problem("software.store", text, "code", hint)


def keep(code: Code, store: Path) -> None:
    """Make the copy of the code in the store, unless it is there; it appears as a whole.

    Raises JobgenError if it cannot be written, if another user could change it, or if the code
    changes while it is copied.
    """
    copy = folder_in(store, "code") / code.name
    try:
        if not _is_whole(code, copy):
            _copy(code, copy)
        with suppress(OSError):  # a store that is read-only has the copy
            os.utime(note_of(copy))
    except OSError as error:
        text = f"{error.filename or store}: {error.strerror}"
        raise problem("software.store", text, "code", "name another folder") from None


def note_of(copy: Path) -> Path:
    """The file beside a copy that says where it is from."""
    return copy.with_name(f"{copy.name}.json")


def _is_whole(code: Code, copy: Path) -> bool:
    """Whether a copy has what it had when it was made, as far as the state of its files tells."""
    root = os.fsencode(copy)
    try:
        made = os.lstat(os.path.join(root, LIST_FILE.encode())).st_mtime_ns
        for each in code.files.values():
            status = os.lstat(os.path.join(root, each.path))
            if stat.S_ISLNK(status.st_mode) != (each.target is not None):
                return False
            is_program = bool(status.st_mode & stat.S_IXUSR)
            is_same = (status.st_size, is_program) == (each.size, each.executable)
            if each.target is None and not (is_same and status.st_mtime_ns <= made):
                return False
    except OSError:
        return False
    return True


def _copy(code: Code, copy: Path) -> None:
    """Write a copy beside its place, and move it there, also in the place of a damaged one."""
    temporary = copy.with_name(f".{copy.name}.{os.urandom(6).hex()}")
    temporary.mkdir(mode=0o700)
    try:
        for each in code.files.values():
            _copy_file(code, each, temporary)
        for folder in [folder for folder, _, _ in os.walk(temporary)][1:]:
            os.chmod(folder, 0o555)
        (temporary / LIST_FILE).write_bytes(code.list)
        (temporary / LIST_FILE).chmod(0o444)
        made_of = {"folder": os.path.abspath(code.folder), **git_state(code.folder)}
        if not note_of(copy).exists():
            data = json.dumps(made_of).encode() + b"\n"
            replace_file(note_of(copy).absolute(), data, 0o644, sync=False)
        _move(code, temporary, copy)
    finally:
        remove_folder(temporary)


def _move(code: Code, temporary: Path, copy: Path) -> None:
    try:
        temporary.rename(copy)
    except OSError:
        if not copy.exists():
            raise
        if _is_whole(code, copy):  # another submission was faster
            return
        damaged = temporary.with_name(f"{temporary.name}.old")
        copy.chmod(0o700)
        copy.rename(damaged)
        temporary.rename(copy)
        remove_folder(damaged)
    copy.chmod(0o555)  # last, since a folder that is read-only cannot be renamed


def _copy_file(code: Code, file: CodeFile, copy: Path) -> None:
    path = copy / os.fsdecode(file.path)
    path.parent.mkdir(parents=True, exist_ok=True)
    if file.target is not None:
        path.symlink_to(os.fsdecode(file.target))
        return
    data = read_file(os.fsencode(code.folder), file.path)
    if hashlib.sha256(data).hexdigest() != file.digits:
        text = f"{os.fsdecode(file.path)} changes while it is copied"
        raise wrong(text, "try again when nothing writes there")
    path.write_bytes(data)
    path.chmod(0o555 if file.executable else 0o444)


def remove_folder(folder: Path) -> None:
    """Remove a copy, whose folders are read-only, if it is there."""
    for each, _, _ in os.walk(folder):
        with suppress(OSError):
            os.chmod(each, 0o700)
    shutil.rmtree(folder, ignore_errors=True)
