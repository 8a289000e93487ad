"""The store: a folder that all nodes see, with copies of code, each named by its content.

A copy has the files, read-only, and a list of them, whose SHA-256 is the copy's name. The list is
what `list_code` of templates/machinery/job/code.sh prints for the copy: so a job sees whether its
copy still has what was submitted. NAME.json beside it says where the copy is from; its time is the
last use of the copy.

The folder of a copy is closed to other users: what closes the code to them may be the mode of a
folder above it, such as the home, which is not above the copy.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from jobgen.code_store.code import Code, read_file
from jobgen.code_store.code_files import LIST_FILE, CodeFile
from jobgen.code_store.git_files import git_state, wrong
from jobgen.errors import JobgenError, counted, in_bytes, problem
from jobgen.paths import bundled, effective_user, part_of, shortest, with_home
from jobgen.profiles.model import Profile
from jobgen.quoting import quote
from jobgen.scripts.write import write_private

_OWN = 0o755  # the mode of a folder in which nobody else writes, whatever the umask is
OURS = ".jobgen"  # the folder of the default store, and of keepers


def store_folder(
    text: str,
    within: Path,
    environ: Mapping[str, str] | None = None,
    key: str = "software.store",
) -> Path:
    """The folder here that a key names, as $NAME in it have values; `within` is $PWD of the job.

    `$$` is a dollar sign, as in `quote_path`. Raises JobgenError for a variable that is not set.
    """
    values = {**(os.environ if environ is None else environ), "PWD": os.path.abspath(within)}
    values["$"] = "$"
    names = re.compile(r"\$(?:\{(\w+)\}|(\w+|\$))")
    if lost := [name for pair in names.findall(text) if (name := "".join(pair)) not in values]:
        hint = f"export {lost[0]}, as on the nodes, or name another folder"
        raise problem(key, f"${lost[0]} is not set here", "code", hint)
    return with_home(Path(names.sub(lambda found: values[found[1] or found[2]], text)), environ)


def folder_of_job(
    text: str,
    chdir: str | None,
    within: Path,
    environ: Mapping[str, str] | None = None,
    key: str = "software.store",
) -> Path:
    """A folder here, as a job names it that is submitted from `within`. Raises JobgenError."""
    working = within / store_folder(chdir or ".", within, environ, "request.chdir")
    return working / store_folder(text, working, environ, key)


def store_of(profile: Profile, within: Path, environ: Mapping[str, str] | None = None) -> Path:
    """The store here of a profile's jobs, which are submitted from `within`. Raises JobgenError."""
    return folder_of_job(profile.software.store, profile.request.chdir, within, environ)


def folder_in(store: Path, name: str) -> Path:
    """A folder of the store, which is made unless it is there; git passes over what is made here.

    Raises JobgenError if it cannot be made, if the folder of the store is not there, or if another
    user could change what is in it.
    """
    top = store.parent if store.parent.name == OURS else store
    if not top.parent.is_dir():
        text, hint = f"{top.parent} is not there", f"mkdir -p {quote(str(top.parent))}"
        raise problem("software.store", text, "code", f"{hint}, or name another folder")
    try:
        _refuse_others(store / name, store)  # before a folder is made, and of what is there then
        is_new = not store.exists()
        for folder in (top, store, store / name):
            folder.mkdir(_OWN, exist_ok=True)
        if is_new:  # not in `top`, whose keepers belong to the repository
            (store / ".gitignore").write_text("*\n")
        _refuse_others(store / name, store)
    except OSError as error:
        raise _not_writable(error, store) from None
    return store / name


def _refuse_others(*folders: Path) -> None:
    """Raise JobgenError if another user could change something in these folders, or put others."""
    for each in filter(Path.exists, (*folders, *folders[-1].resolve().parents)):
        status = each.stat()
        is_own = status.st_uid in (effective_user(), 0) or each not in folders
        # In a folder such as /tmp, whose sticky bit is set, nobody renames what others have there.
        is_sticky = status.st_mode & stat.S_ISVTX and each not in folders
        if not is_own or (status.st_mode & stat.S_IWOTH and not is_sticky):
            text = f"another user can write in {each}, and change the code of your jobs"
            hint = "name a store in a folder of your own"
            if not status.st_mode & stat.S_ISVTX:  # else it is for all, as /tmp is
                hint += f", or chmod o-w {quote(str(each))}"
            raise problem("software.store", text, "code", hint)


def _not_writable(error: OSError, store: Path) -> JobgenError:
    text = f"{error.filename or store}: {error.strerror}"
    return problem("software.store", text, "code", "name another folder")


def keep(code: Code, store: Path) -> str:
    """Make the copy of the code in the store, unless it is there; it appears as a whole.

    Returns what was copied, in words; "" if it was there.
    Raises JobgenError if it cannot be written, if another user could change it, or if the code
    changes while it is copied.
    """
    copy, made = folder_in(store, "code") / code.name, ""
    try:
        if not _is_whole(code, copy):
            with part_of(copy) as part:
                _write(code, part)
                _note_origin(code, copy)  # before the copy is there
                _move(code, part, copy)
            count, size = len(code.files), sum(each.size for each in code.files.values())
            made = f"code: {counted(count, 'file')}, {in_bytes(size)}, in {shortest(copy)}"
        with suppress(OSError):  # a store that is read-only has the copy
            _note_origin(code, copy)  # the note may be gone
            os.utime(note_of(copy))
    except OSError as error:
        raise _not_writable(error, store) from None
    return made


def note_of(copy: Path) -> Path:
    """The file beside a copy that says where it is from."""
    return copy.with_name(f"{copy.name}.json")


def _is_whole(code: Code, copy: Path) -> bool:
    """Whether nothing in a copy was changed, added or removed since its list was written."""
    try:
        if (copy / LIST_FILE).read_bytes() != code.listing:
            return False
        made = os.lstat(copy / LIST_FILE).st_ctime_ns
        if os.lstat(copy).st_mtime_ns > made:
            return False
        for folder, folders, names in os.walk(os.fsencode(copy)):
            for name in (*folders, *names):
                if os.lstat(os.path.join(folder, name)).st_ctime_ns > made:
                    return False
    except OSError:
        return False
    return True


def _write(code: Code, copy: Path) -> None:
    copy.mkdir(mode=0o700)
    for each in code.files.values():
        _copy_file(code, each, copy)
    for folder in [Path(folder) for folder, _, _ in os.walk(copy)][1:]:
        folder.chmod(_read_only((code.folder / folder.relative_to(copy)).stat().st_mode))
    (copy / LIST_FILE).write_bytes(code.listing)  # last: see _is_whole
    (copy / LIST_FILE).chmod(0o444)


def _note_origin(code: Code, copy: Path) -> None:
    if not note_of(copy).exists():
        origin = {"folder": os.path.abspath(code.folder), **git_state(code.folder)}
        write_private(note_of(copy), json.dumps(origin).encode() + b"\n")


def _move(code: Code, part: Path, copy: Path) -> None:
    """Move a copy to its place, also in the place of a damaged one."""
    try:
        part.rename(copy)
    except OSError:
        if _is_whole(code, copy):  # another submission was faster
            return
        with part_of(copy) as damaged:
            copy.chmod(0o700)
            copy.rename(damaged)
            part.rename(copy)
    copy.chmod(0o500)  # last, since a folder that is read-only cannot be renamed


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
    path.chmod(_read_only(file.mode))


def _read_only(mode: int) -> int:
    """The mode of a copy: whoever may read or run the original may do so, and nobody may write."""
    return mode & 0o555


def changed_files(copy: Path) -> str:
    """What a job would say of a copy that is not what was submitted; "" if it is."""
    check = (bundled("templates") / "machinery/job/code.sh").read_text(encoding="utf-8")
    text = f'fail() {{ echo "$*"; exit 1; }}; workspace=$1\n{check}\ncheck_code'
    words = ("bash", "-euo", "pipefail", "-c", text, "-", copy)
    answer = os.fsdecode(subprocess.run(words, capture_output=True, check=False).stdout)
    return answer.rpartition(": ")[0]  # without the cure, which is for who submits
