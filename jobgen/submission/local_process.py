"""A job of this machine without a scheduler: a script that runs in a process of its own."""

import os
import signal
import subprocess
from contextlib import suppress
from pathlib import Path
from time import monotonic

from jobgen.errors import problem
from jobgen.submission.follow import shell_status
from jobgen.submission.queues.job_queue import JobStatus
from jobgen.submission.watch import View

# `exec` keeps the number of the process, which is the job's.
_START = 'exec > "$1-$$.out" 2>&1 < /dev/null && exec bash "$0"'


class LocalProcess:
    """A script that runs here, in a session of its own, so that no Ctrl-C ends it.

    Its output is in NAME-NUMBER.out in its folder. It is shown as a queue would show it.
    """

    longest_pause = 1.0

    def __init__(self, script: Path, folder: Path, name: str) -> None:
        words = ("bash", "-c", _START, str(script.absolute()), name)
        try:
            self._process = subprocess.Popen(words, cwd=folder, start_new_session=True)
        except OSError as error:
            raise problem("submit", f"bash does not run here: {error.strerror}", "submit") from None
        self.id = str(self._process.pid)
        self.output = folder / f"{name}-{self.id}.out"

    def look(self, most_age: float, since: float) -> View:
        """Its state as of now."""
        now, runs = monotonic(), self._runs()
        shown = JobStatus("RUNNING") if runs else self.end_of(self.id)
        return View({self.id: shown} if shown else {}, {self.id: True} if runs else {}, now, now)

    def end_of(self, job: str, cluster: str = "") -> JobStatus | None:
        """Its exit status; None while it runs, and if nobody knows."""
        code = self._process.poll()
        return None if code is None else JobStatus("ENDED", exit_status=shell_status(code))

    def cancel(self, job: str, cluster: str = "") -> None:
        """Ask it to end, which ends all that it has started."""
        if self._runs():
            os.kill(int(self.id), signal.SIGTERM)

    def _runs(self) -> bool:
        return self._process.poll() is None


class LeftProcess(LocalProcess):
    """One that another program has started, and that may have ended: its record says how."""

    def __init__(self, job: str, scripts: Path, folder: Path, name: str) -> None:
        self.id, self.output = job, folder / f"{name}-{job}.out"
        self._scripts = os.fsencode(scripts.absolute())

    def end_of(self, job: str, cluster: str = "") -> JobStatus | None:
        return None

    def _runs(self) -> bool:
        """Whether it is there; a later process may have its number, but none of its scripts."""
        with suppress(OSError):
            return self._scripts in Path(f"/proc/{self.id}/cmdline").read_bytes()
        return False
