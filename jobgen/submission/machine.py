"""Where the scheduler's commands run: on this machine, or on a login node (`login`)."""

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from jobgen.quoting import quote

_QUERY_SECONDS = 60.0
_ON_PATH = 'for name; do ! command -v -- "$name" > /dev/null || echo "$name"; done'


class Answer(NamedTuple):
    """What a command printed.

    `status` is None if the command did not start or did not end in time, or if the connection was
    lost before its end; `errors` then says why.
    """

    status: int | None
    output: str
    errors: str

    @property
    def reason(self) -> str:
        """The last line that says why it failed."""
        lines = [line.strip() for line in self.errors.splitlines() if line.strip()]
        return lines[-1] if lines else f"exit status {self.status}"


class Machine(Protocol):
    """A machine with the scheduler's commands."""

    @property
    def name(self) -> str:
        """The machine's name for ssh; "" for this one."""

    @property
    def longest_pause(self) -> float:
        """The seconds between two queries about a job that takes long."""

    def run(self, words: Sequence[str], data: bytes = b"", seconds: float | None = None) -> Answer:
        """Run a command in the job's folder, with `data` as its stdin, for at most `seconds`."""

    def submit(self, words: Sequence[str], script: bytes, lock: int | None = None) -> Answer:
        """Run a command that submits a script, once and no more.

        It keeps a lock of this machine until it ends, also if this process is killed.
        """

    def shown(self, words: Sequence[str]) -> str:
        """The line that a person here types to run a command there."""


class Here(NamedTuple):
    """This machine; its commands run in a folder."""

    folder: str | None = None
    name: str = ""
    longest_pause: float = 10.0

    def run(self, words: Sequence[str], data: bytes = b"", seconds: float | None = None) -> Answer:
        return run_here(words, data, seconds, self.folder)

    def submit(self, words: Sequence[str], script: bytes, lock: int | None = None) -> Answer:
        if lock is None:
            return self.run(words, script)
        # A qsub leaves a process in the background, which may not have the lock: so bash has it.
        keeper = ("bash", "-c", f'"$@" {lock}>&-; exit "$?"', "bash", *words)
        return run_here(keeper, script, None, self.folder, (lock,))

    def shown(self, words: Sequence[str]) -> str:
        return " ".join(map(quote, words))


HERE = Here()


def on_path(names: Sequence[str], machine: Machine = HERE) -> tuple[str, ...]:
    """Those of the commands that the machine has on PATH."""
    if not machine.name:
        return tuple(filter(shutil.which, names))
    words = ("bash", "-c", _ON_PATH, "names", *names)
    return tuple(machine.run(words, seconds=_QUERY_SECONDS).output.split())


def run_here(
    words: Sequence[str],
    data: bytes,
    seconds: float | None,
    folder: str | None = None,
    files: tuple[int, ...] = (),
) -> Answer:
    """Run a command on this machine; never raises OSError.

    Its stdin is a file: in a pipe, it would read half of a script if this process was killed.
    """
    try:
        with tempfile.TemporaryFile() as stdin:
            stdin.write(data)
            stdin.seek(0)
            done = subprocess.run(
                words,
                stdin=stdin,
                capture_output=True,
                timeout=seconds,
                check=False,
                cwd=folder,
                pass_fds=files,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Answer(None, "", f"{error}\n")
    output, errors = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return Answer(done.returncode, output, errors)
