"""A job of a minute on one compute node, which prints what only that node knows."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

from jobgen.detection.cluster import Cluster, Nodes, Partition
from jobgen.detection.commands import SUBMIT_SECONDS, run, signals_wait
from jobgen.detection.hardware import Hardware, parse_probe
from jobgen.errors import JobgenError, problem, report

SCRIPT = Path(__file__).with_name("probe.sh")
PAUSE = 0.3  # seconds between two looks for the answer
QUERY_PAUSE = 3.0  # seconds between two questions to the scheduler
LATE_FILE_SECONDS = 15.0  # a shared file system may show a file of another node that much later


@dataclass(frozen=True)
class Request:
    """Which node the job is for, and what the site wants in every job."""

    cluster: Cluster
    partition: Partition
    kind: Nodes
    constraint: str
    account: str
    directives: Sequence[str]

    @property
    def words(self) -> tuple[str, ...]:
        """The command that submits the script on its standard input."""
        return self._qsub() if self.cluster.scheduler == "pbs" else self._sbatch()

    def _sbatch(self) -> tuple[str, ...]:
        gpu = ":".join(filter(None, ("gpu", self.kind.gpu_type, "1")))
        options = {
            "partition": self.partition.name,
            "account": self.account,
            "constraint": self.constraint,
            "gres": gpu if self.kind.gpus else "",
        }
        return (
            *("sbatch", "--parsable", "--job-name=jobgen-probe", "--output=/dev/null"),
            *("--nodes=1", "--ntasks=1", "--time=1"),
            *(f"--{name}={value}" for name, value in options.items() if value),
            *(word for text in self.directives for word in shlex.split(text)),
        )

    def _qsub(self) -> tuple[str, ...]:
        uses_gpus = self.kind.gpus and "ngpus" in self.cluster.gpu_options
        chunk = ["1:ncpus=1", "ngpus=1" if uses_gpus else "", self.constraint]
        account = ("-A", self.account) if self.account else ()
        return (
            *("qsub", "-N", "jobgen-probe", "-q", self.partition.name, *account),
            *("-l", f"select={':'.join(filter(None, chunk))}"),
            *("-l", f"walltime={self.partition.least_time or '00:01:00'}"),
            *("-j", "oe", "-o", "/dev/null", "-m", "n"),
            *(word for text in self.directives for word in shlex.split(text)),
        )


def probe(request: Request, seconds: float) -> Hardware:
    """What one node says. Raises JobgenError with exit code 1 if it says nothing in time.

    Nothing is left: the folder of the answer is removed, and a job that has not ended is cancelled.
    """
    with _folder() as folder, _interruptible():
        job = ""
        try:
            with signals_wait():
                job = _submit(request, folder)
            report(f"probe: job {job} is submitted; waiting for it, at most {seconds:g} s")
            text = _answer(request, job, folder, seconds)
            job = ""
            return parse_probe(text)
        finally:
            if job:
                cancel = "qdel" if request.cluster.scheduler == "pbs" else "scancel"
                failure = run((cancel, job), seconds=SUBMIT_SECONDS).failure
                text = f"; {cancel} {failure}" if failure else ""
                report(f"probe: job {job} is cancelled{text}")


@contextmanager
def _folder() -> Iterator[Path]:
    """A folder here, which the node has to see, too; it is gone afterwards."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=".jobgen-probe-", dir=os.getcwd()))
    except OSError as error:
        hint = "cd to a folder that you may write to and that compute nodes share"
        raise _no_answer(f"no folder can be made here: {error.strerror}", hint) from None
    try:
        yield folder
    finally:
        for _ in range(20):  # a job that was just cancelled may still write
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.1)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Signals that would end this process raise KeyboardInterrupt: the job is cancelled."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    signals = (signal.SIGTERM, signal.SIGHUP)
    previous = {number: signal.signal(number, interrupt) for number in signals}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _submit(request: Request, folder: Path) -> str:
    script = SCRIPT.read_text(encoding="utf-8")
    text = f"#!/bin/sh\nfolder={shlex.quote(str(folder))}\n{script}"
    answer = run(request.words, text, SUBMIT_SECONDS)
    job = re.search(r"^(\d+(?:\.[\w.-]+)?)(?:;\S+)?$", answer.text, re.MULTILINE | re.ASCII)
    if answer.failure or not job:
        hint = "what your site demands of every job: --account NAME, --directive OPTION"
        raise _no_answer(f"{answer.command} {answer.failure or 'printed no id'}", hint)
    return job[1]


def _answer(request: Request, job: str, folder: Path, seconds: float) -> str:
    """What the job has written, once it is whole."""
    limit = time.monotonic() + seconds
    state, next_query, ended = "", 0.0, 0.0
    while time.monotonic() < limit:
        if "answer" in os.listdir(folder):  # it makes a network file system look again
            with suppress(OSError):
                return (folder / "answer").read_text(encoding="utf-8", errors="replace")
        if time.monotonic() > next_query:
            next_query = time.monotonic() + QUERY_PAUSE
            state = _state(request.cluster.scheduler, job) or state
            ended = ended or (time.monotonic() if state == "ENDED" else 0.0)
        if ended and time.monotonic() > ended + LATE_FILE_SECONDS:
            hint = "run it in a folder that compute nodes share; see why jobs fail in the queue"
            raise _no_answer(f"job {job} has ended, and its answer is not in {folder.parent}", hint)
        time.sleep(PAUSE)
    text = f"job {job} has not answered within {seconds:g} s" + (f" ({state})" if state else "")
    raise _no_answer(text, "--probe-limit SECONDS, or run it without --probe")


def _state(scheduler: str, job: str) -> str:
    """The job's state with its reason, "ENDED", or "" if it is not known."""
    if scheduler == "pbs":
        answer = run(("qstat", "-f", job))
        if re.search("Unknown Job Id|has finished", answer.error):
            return "ENDED"
        found = re.search(r"^ +comment = (.*)", answer.text.replace("\n\t", ""), re.MULTILINE)
        return found[1] if found else ""
    answer = run(("squeue", "-h", "-j", job, "-o", "%T %r"))
    if "Invalid job id" in answer.error or (not answer.failure and not answer.text.strip()):
        return "ENDED"
    state = answer.text.strip()
    return "ENDED" if re.match("CANCELLED|COMPLETED|FAILED|TIMEOUT|NODE_FAIL", state) else state


def _no_answer(text: str, hint: str) -> JobgenError:
    return JobgenError(problem("--probe", text, "probe", hint).problems, exit_code=1)
