"""Where the scheduler's commands run: on this machine, or on a login node by the user's own ssh."""

import subprocess
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from jobgen.quoting import quote

NO_ANSWER = 255  # ssh's exit status for a connection that failed or was lost
_SSH = ("ssh", "-o", "BatchMode=yes", "-o", "ConnectTimeout=20", "-o", "ServerAliveInterval=20")


class Answer(NamedTuple):
    """What a command printed; `status` is None if it did not start or did not end in time."""

    status: int | None
    output: str
    errors: str


class Machine(Protocol):
    """A machine with the scheduler's commands."""

    @property
    def name(self) -> str:
        """The machine's name in ssh's configuration; "" for this one."""

    def command(self, words: Sequence[str]) -> tuple[str, ...]:
        """Returns the command that runs `words` on the machine, in the job's folder there."""

    def run(self, words: Sequence[str], data: bytes = b"", seconds: float | None = None) -> Answer:
        """Run a command with `data` as its stdin, for at most `seconds`; never raises OSError."""


class Here:
    """This machine."""

    name = ""

    def command(self, words: Sequence[str]) -> tuple[str, ...]:
        return tuple(words)

    def run(self, words: Sequence[str], data: bytes = b"", seconds: float | None = None) -> Answer:
        return _run(self.command(words), data, seconds)


class Login(NamedTuple):
    """A login node, by ssh; a password is never asked for, since no person may be there."""

    name: str  # as in the user's ~/.ssh/config: HOST or USER@HOST
    folder: str  # the job's folder there, from the home or from /

    def command(self, words: Sequence[str]) -> tuple[str, ...]:
        line = " ".join(map(quote, words))
        return (*_SSH, "--", self.name, f"cd -- {quote(self.folder)} && {line}")

    def run(self, words: Sequence[str], data: bytes = b"", seconds: float | None = None) -> Answer:
        return _run(self.command(words), data, seconds)


HERE = Here()


def _run(words: Sequence[str], data: bytes, seconds: float | None) -> Answer:
    try:
        done = subprocess.run(words, input=data, capture_output=True, timeout=seconds, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Answer(None, "", f"{error}\n")
    output, errors = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return Answer(done.returncode, output, errors)
