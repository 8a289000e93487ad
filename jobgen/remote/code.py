"""Sends copies of code to the store of a login node's cluster."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from jobgen.code_store.code import Code
from jobgen.code_store.store import keep, note_of
from jobgen.errors import problem, report_lines
from jobgen.paths import bundled
from jobgen.quoting import names_set, quote_path
from jobgen.remote.files import address, failed, rsync
from jobgen.remote.place import unreachable
from jobgen.submission.login import Login
from jobgen.submission.machine import Answer

HERE = Path(".jobgen/store")
_RECEIVE = Path(__file__).with_name("receive.sh")
_LISTING = bundled("templates") / "machinery/job/code.sh"
_SECONDS = 120.0


def send_codes(login: Login, codes: Iterable[tuple[str, str, Code]], here: Path = HERE) -> None:
    """Keep each code in its store there, unless it is there; `codes` are those of CodeCopies.

    Folders may have $NAME, which are the login node's. rsync reads the copies in the store `here`.
    Raises JobgenError.
    """
    for within, store, code in codes:
        report_lines(filter(None, [keep(code, here)]))
        _send(login, (within, store), code.name, here)


def _send(login: Login, store: tuple[str, str], name: str, here: Path) -> None:
    answer = _receive(login, store, "begin", name)
    folder, *others = answer.output.splitlines() or [""]
    if folder == "there":
        return
    if not folder.startswith("/"):
        raise problem("software.store", f"{login.name} does not say which folder it is", "code")
    temporary = f".{name}.{os.urandom(6).hex()}"
    links = [f"--link-dest=../{each}" for each in others]
    # By their checksums: the times of copies differ.
    source, target = f"{here.absolute()}/code/{name}/", address(login, f"{folder}/{temporary}/")
    answer = rsync(["-rlpc", *links], source, target, login)
    if answer.status:
        raise failed(login, answer)
    note = note_of(here / "code" / name).read_bytes()
    _receive(login, store, "end", name, temporary, data=note)


def _receive(login: Login, store: tuple[str, str], *words: str, data: bytes = b"") -> Answer:
    """Run receive.sh in the store there. Raises JobgenError if it cannot write there."""
    functions = _LISTING.read_text(encoding="utf-8")
    within, folder = quote_path(store[0]), f"{quote_path(store[1])}/code"
    text = f"{names_set(*store)}umask 022; cd -- {within} && mkdir -p -- {folder} || exit\n"
    text += f"cd -P -- {folder} || exit\n{functions}\n"
    text += _RECEIVE.read_text(encoding="utf-8")
    answer = login.run_again(("bash", "-c", text, "receive", *words), data, _SECONDS)
    if answer.status is None:
        raise unreachable(login, answer.reason)
    if answer.status:
        raise problem("software.store", f"{login.name}: {answer.reason}", "code")
    return answer
