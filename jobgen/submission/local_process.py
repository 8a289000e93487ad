"""A job of this machine without a scheduler: a script that runs in a process of its own."""

import signal
import subprocess
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
        now, status = monotonic(), self.end_of(self.id)
        shown = status or JobStatus("RUNNING")
        return View({self.id: shown}, {} if status else {self.id: True}, now, now)

    def end_of(self, job: str, cluster: str = "") -> JobStatus | None:
        """Its exit status; None while it runs."""
        code = self._process.poll()
        return None if code is None else JobStatus("ENDED", exit_status=shell_status(code))

    def cancel(self, job: str, cluster: str = "") -> None:
        """Ask it to end, which ends all that it has started."""
        self._process.send_signal(signal.SIGTERM)
