"""Programs of the package `keeper` as they are carried, and the processes that they leave."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from jobgen.keeper.carried import keeper_text

# Seconds, on a busy machine, too: all that waits in these tests sleeps for longer.
SOON = 50
# A rank: its own session, deaf to TERM, with a grandchild of init and a child with a session.
DEAF = """
import os, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for generation in range(3):
    if os.fork() == 0:
        os.setsid()
        if generation == 2 and os.fork():
            os._exit(0)
        break
open(f"{sys.argv[1]}/deaf.{os.getpid()}", "w").close()
time.sleep(600)
"""


class Marked:
    """All processes that have one test's mark in their environment."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.mark = folder, f"JOBGEN_TEST={uuid.uuid4().hex}"
        self.program = folder / "keeper.py"
        self.lead = folder / "lead.py"
        self.program.write_text(keeper_text(False))
        self.lead.write_text(keeper_text(True))
        (folder / "deaf.py").write_text(DEAF)
        name, _, value = self.mark.partition("=")
        self.environment = {**os.environ, name: value, "PYTHONUNBUFFERED": "1"}
        for unwanted in ("LOCAL_RANK", "JOBGEN_NODE", "JOBGEN_KEEPER"):
            self.environment.pop(unwanted, None)

    def start(
        self,
        *words: object,
        python: str = sys.executable,
        within: Sequence[str] = (),
        stdout: int | IO[str] = subprocess.PIPE,
    ) -> subprocess.Popen[str]:
        """FILE WORDS…, started as a script starts it; `within` is a command that starts others."""
        program = self.lead if words[0] == "lead" else self.program
        command = [*within, python, "-I", "-S", str(program), *map(str, words)]
        return subprocess.Popen(
            command,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    def keep(self, *command: object, grace: float = 1) -> subprocess.Popen[str]:
        """The keeper of node `h1` with a command."""
        return self.start("keep", grace, self.folder, "h1", *command)

    def pids(self) -> dict[int, str]:
        """The processes with the mark, zombies not, and their command lines."""
        found = {}
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self.mark.encode() in (entry / "environ").read_bytes():
                    line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                    found[int(entry.name)] = line.strip()
            except OSError:
                pass
        return found

    def named(self, text: str) -> list[int]:
        """The processes with a text in their command line, each after its parent."""
        found = [pid for pid, line in self.pids().items() if text in line]
        return sorted(found, key=lambda pid: len(ancestors(pid)))  # pids wrap around

    def remaining(self) -> dict[int, str]:
        """What is left as soon as nothing is, or after 20 s: then nobody ends it."""
        wait_for(lambda: not self.pids(), 20)
        return self.pids()


def parent(pid: int) -> int:
    """The pid of its parent; 0 if there is no such process."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def ancestors(pid: int) -> list[int]:
    """The pids of its parent, of that one's parent and so on, without init."""
    found = []
    while (pid := parent(pid)) > 1:
        found.append(pid)
    return found


def wait_for(condition: Callable[[], object], seconds: float = SOON) -> bool:
    """Whether it became true in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


@contextmanager
def marked(folder: Path) -> Iterator[Marked]:
    """A mark; what still has it at the end is killed, one by one."""
    processes = Marked(folder)
    try:
        yield processes
    finally:
        while left := processes.pids():
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.05)
