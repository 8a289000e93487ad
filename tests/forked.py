"""Runs of jobgen that do not wait for its imports: a server has done them, and forks for each run.

A run is a process with its own words, folder, environment, output and exit status, as a person's.
What Python reads as it starts is the server's, so a run with other such variables is a new Python.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import selectors
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import jobgen

# coverage measures a process from its start.
_OF_THE_START = ("PYTHON", "LC_", "LANG", "COVERAGE")
_MOST_BYTES = 64 * 1024  # of one request
_PRELOADED = "cli planner planning profiles schedulers scripts lint diagnosis".split()
_busy = threading.Lock()


def run(
    words: Sequence[str | bytes], cwd: Path | None, environ: Mapping[str, str]
) -> subprocess.CompletedProcess[bytes] | None:
    """The run of jobgen, its output in bytes; None if only a new Python can do it."""
    try:
        folder = str(cwd or os.getcwd())
    except FileNotFoundError:
        return None
    request = json.dumps([[*map(os.fsdecode, words)], folder, dict(environ)]).encode()
    if len(request) > _MOST_BYTES or not os.access(folder, os.X_OK):
        return None
    if not _busy.acquire(blocking=False):  # another thread waits for its run
        return None
    try:
        server, of_the_start, _ = _server()
        if _start_variables(environ) != of_the_start:
            return None
        (out, child_out), (err, child_err) = os.pipe(), os.pipe()
        socket.send_fds(server, [request], [child_out, child_err])
        os.close(child_out)
        os.close(child_err)
        output = _read(out, err)
        status = os.waitstatus_to_exitcode(int(server.recv(100)))
        return subprocess.CompletedProcess(list(words), status, *output)
    finally:
        _busy.release()


def _start_variables(environ: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in environ.items() if name.startswith(_OF_THE_START)}


@cache
def _server() -> tuple[socket.socket, dict[str, str], subprocess.Popen[bytes]]:
    """The server of this process, which ends with it, and the variables that it began with."""
    own, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    command = [sys.executable, "-m", "tests.forked", str(other.fileno())]
    null = subprocess.DEVNULL
    root = Path(__file__).parent.parent
    server = subprocess.Popen(command, cwd=root, pass_fds=[other.fileno()], stdin=null, stdout=null)
    other.close()
    return own, _start_variables(os.environ), server


def _read(*pipes: int) -> list[bytes]:
    """All that comes from pipes, until the last writer has closed each."""
    found = {pipe: bytearray() for pipe in pipes}
    with selectors.DefaultSelector() as selector:
        for pipe in pipes:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select():
                if part := os.read(key.fd, 1 << 16):
                    found[key.fd] += part
                else:
                    selector.unregister(key.fd)
                    os.close(key.fd)
    return [bytes(each) for each in found.values()]


def _serve(requests: socket.socket) -> None:
    """Forks for each request, and answers with the status; returns in a child, and at the end."""
    for part in _PRELOADED:
        package = importlib.import_module(f"jobgen.{part}")
        for each in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(each.name)
    while True:
        text, pipes, _, _ = socket.recv_fds(requests, _MOST_BYTES, 2)
        if not text:
            os._exit(0)  # the tests have ended
        if child := os.fork():
            for pipe in pipes:
                os.close(pipe)
            requests.send(str(os.waitpid(child, 0)[1]).encode())
            continue
        words, folder, environ = json.loads(text)
        for number, pipe in enumerate(pipes, 1):
            os.dup2(pipe, number)
            os.close(pipe)
        requests.close()
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(environ)
        time.tzset()
        tempfile.tempdir = None
        sys.argv = [jobgen.__main__.__file__, *words]
        return


if __name__ == "__main__":
    import jobgen.__main__

    _serve(socket.socket(fileno=int(sys.argv[1])))
    jobgen.__main__.run()
