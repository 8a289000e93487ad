"""The service that judges scripts: each in a child process, which ends at the time limit.

It runs as an account of its own; a child of root's gives up its rights. A script comes as bytes on
a socket of Unix, with which the kernel says whose it is; the service opens no file of a user, and
runs nothing of a script.
"""

import errno
import grp
import json
import os
import pwd
import resource
import select
import signal
import socket
import struct
import time
from contextlib import suppress
from datetime import datetime, timezone
from gc import freeze
from typing import Any, NoReturn, TextIO

from jobgen.bounds import GUARD_CHILDREN, LINT_BYTES
from jobgen.errors import problem, report
from jobgen.guard.judge import EXEMPT, REHEARSED, Submission, Verdict, judge
from jobgen.guard.settings import Choice, Guard
from jobgen.untrusted_input import bound_memory

TOO_LATE, FAILED = "late", "failed"  # words of the log beside those of verdicts
_NOBODY = 65534  # the user and group that have no rights
_EXAMPLE = b"#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun train.py | tee log\n"


def serve(choice: Choice) -> NoReturn:
    """Answer submissions until a signal ends this process. Raises JobgenError."""
    for scheduler in ("slurm", "pbs"):  # imports and compiles all that a child needs
        judge(Submission("", scheduler, "job.sh", ("-N", "2"), _EXAMPLE), choice)
    listener = _listener(choice.guard)
    freeze()
    report(f"the guard listens at {choice.guard.socket}")
    children: dict[int, int] = {}
    while True:
        ready = select.select([listener], [], [], 0.1 if children else None)[0]
        _collect(children, choice)
        if ready:
            link, _ = listener.accept()
            uid = struct.unpack("3i", link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
            if child := os.fork():
                children[child] = uid
                link.close()
            else:
                listener.close()
                _answer(link, uid, choice)


def _listener(guard: Guard) -> socket.socket:
    """The socket. Raises JobgenError if it cannot be made, or if the log cannot be written."""
    place = f"socket: {guard.socket}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:  # asks without a connection
        if other.connect_ex(guard.socket) == errno.EPROTOTYPE:
            raise problem(place, "a guard listens there already", "output", "end it first")
    try:
        os.makedirs(os.path.dirname(guard.socket), exist_ok=True)
        with suppress(FileNotFoundError):
            os.unlink(guard.socket)
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(guard.socket)
        os.chmod(guard.socket, 0o666)  # all users submit
        listener.listen(1024)
        place = f"log: {guard.log}"
        os.makedirs(os.path.dirname(guard.log), exist_ok=True)
        open(guard.log, "a").close()
    except OSError as error:
        raise problem(place, f"cannot be made: {error.strerror}", "output") from None
    return listener


def _collect(children: dict[int, int], choice: Choice) -> None:
    """Collect the children that have ended, and log those that were ended; await one if full."""
    while children:
        child, status = os.waitpid(-1, 0 if len(children) >= GUARD_CHILDREN else os.WNOHANG)
        if not child:
            return
        uid = children.pop(child)
        if status:
            word = TOO_LATE if os.WTERMSIG(status) == signal.SIGALRM else FAILED
            _write(_opened(choice.guard.log), user=_user(uid), verdict=word)


def _answer(link: socket.socket, uid: int, choice: Choice) -> NoReturn:
    """Answer one submission, log the answer, and end this process."""
    start, guard, user = time.monotonic(), choice.guard, str(uid)
    log = _opened(guard.log)
    try:
        bound_memory()
        seconds = guard.time_limit // 1000 + 1  # also of `bash -n`, which may outlive this process
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        if not os.geteuid():
            os.setgroups([])
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
        signal.setitimer(signal.ITIMER_REAL, guard.time_limit / 1000)  # also ends C code
        user = _user(uid)
        submission = _submission(link)
        if not uid:  # the hook of PBS, which names the user
            user = submission.user or user
        verdict = Verdict(EXEMPT) if _is_exempt(user, guard) else judge(submission, choice)
        link.sendall(verdict.text.encode("utf-8", "backslashreplace"))
        signal.setitimer(signal.ITIMER_REAL, 0)
        entry = {"codes": verdict.codes, "ms": round((time.monotonic() - start) * 1000)}
        hours = {} if verdict.gpu_hours is None else {"gpu_hours": verdict.gpu_hours}
        is_rehearsed = any(each.option == "test-only" for each in submission.options)
        word = REHEARSED if is_rehearsed else verdict.word
        _write(log, user=user, verdict=word, **entry, **hours)
    except OSError:  # nobody waits any more
        _write(log, user=user, verdict=TOO_LATE)
    except Exception as error:  # whoever sent it
        _write(log, user=user, verdict=FAILED, error=f"{error!r:.200}")
    finally:
        os._exit(0)


def _submission(link: socket.socket) -> Submission:
    """What a client sends. Raises OSError if the client has been ended."""
    data, most = b"", 2 * LINT_BYTES
    while len(data) <= most and (block := link.recv(1 << 18)):
        data += block
    first, _, rest = data.partition(b"\n")
    head, length = map(int, first.split() or (0, 1))
    script = None if length < 0 else rest[head:]
    if length > LINT_BYTES:
        raise ValueError(f"a script of {length} bytes")
    if script is not None and len(script) != length:
        raise ConnectionError
    user, scheduler, name, *words = rest[:head].decode("utf-8", "surrogateescape").split("\0")
    return Submission(user, scheduler, name, words, script)


def _user(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def _is_exempt(user: str, guard: Guard) -> bool:
    if user in guard.exempt_users:
        return True
    for name in guard.exempt_groups:
        with suppress(KeyError):  # no such user or group
            if grp.getgrnam(name).gr_gid in os.getgrouplist(user, pwd.getpwnam(user).pw_gid):
                return True
    return False


def _opened(log: str) -> TextIO:
    try:
        return open(log, "a", encoding="utf-8")
    except OSError:  # the answers matter more
        return open(os.devnull, "w")


def _write(log: TextIO, **values: Any) -> None:
    """Add a line to the log, and close it."""
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    with suppress(OSError), log:
        log.write(json.dumps({"time": now, **values}) + "\n")
