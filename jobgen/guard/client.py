"""Asks the service about a script of sbatch, as the script's user; prints what it answers.

    python -I -S client.py SOCKET file|stdin|text NAME WORD...

NAME is the script's path, or its text; the words are those of sbatch. It imports little, as
each submission waits for it, and reads no pipe with a name: sbatch has. Its caller ends it.
"""

import posix  # with `os` and `socket`, it would take twice as long to start
import sys
from _socket import AF_UNIX, SHUT_WR, SOCK_STREAM, socket
from _stat import S_ISFIFO, S_ISREG


def run(address: str, source: str, name: str, *words: str) -> None:
    """Print the answer of the service."""
    script = _text(source, name)
    if script is None and source == "stdin":
        return
    name = {"file": name.rpartition("/")[2], "stdin": "stdin", "text": "--wrap"}[source]
    head = "\0".join(("", "slurm", name, *words)).encode("utf-8", "surrogateescape")
    link = socket(AF_UNIX, SOCK_STREAM)
    link.connect(address)
    size = -1 if script is None else len(script)
    link.sendall(b"%d %d\n%b%b" % (len(head), size, head, script or b""))
    link.shutdown(SHUT_WR)
    while block := link.recv(1 << 18):
        posix.write(1, block)


def _text(source: str, name: str) -> bytes | None:
    if source == "text":
        return b"#!/bin/sh\n%b\n" % name.encode("utf-8", "surrogateescape")
    flags = posix.O_RDONLY | posix.O_NONBLOCK | posix.O_NOCTTY
    file = posix.open(name, flags) if source == "file" else 0
    status = posix.fstat(file)
    if S_ISREG(status.st_mode):  # without moving the place at which sbatch will read
        return posix.pread(file, status.st_size, posix.lseek(file, 0, 1))
    return _in_pipe() if source == "stdin" and S_ISFIFO(status.st_mode) else None


def _in_pipe() -> bytes | None:
    """What is in the pipe on stdin when its writers have closed it; it stays in the pipe."""
    import ctypes
    import fcntl
    import select

    poll = select.poll()
    poll.register(0, 0)  # it waits for POLLHUP
    poll.poll()
    size = fcntl.fcntl(0, fcntl.F_GETPIPE_SZ)
    reader, writer = posix.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, size)
    copied = ctypes.CDLL(None).tee(0, writer, ctypes.c_size_t(size), 0)
    posix.close(writer)
    with open(reader, "rb") as copy:
        return copy.read() if copied > 0 else None


if __name__ == "__main__":
    run(*sys.argv[1:])
