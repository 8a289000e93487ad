"""Runs a job of one minute on a compute node, to learn what only that node knows."""

import os
import re
import shlex
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from jobgen.detection.cluster import Findings
from jobgen.detection.commands import SECONDS, SUBMIT_SECONDS, no_answer, run, signals_wait
from jobgen.detection.hardware import Hardware, parse_probe
from jobgen.detection.software import environment_folders
from jobgen.errors import report
from jobgen.submission.queues.job_queue import JobQueue, get_queue

SCRIPT = Path(__file__).with_name("probe.sh")
PAUSE = 0.3  # seconds between two checks for the file with the answer
QUERY_PAUSE = 3.0  # seconds between two questions to the scheduler
LATE_FILE_SECONDS = 15.0  # a shared file system may show another node's file this much later
JobId = tuple[str, str]  # the id and the cluster


def ask_node(found: Findings, seconds: float) -> Hardware:
    """The hardware of one node. Raises JobgenError with exit code 1 if no answer comes in time.

    At the end, the folder of the answer is removed; a job that has not ended is cancelled.
    """
    queue = get_queue(found.cluster.scheduler)
    # They raise KeyboardInterrupt, as Ctrl-C does, so that the job is cancelled.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.default_int_handler)
    with _folder() as folder:
        job = None
        try:
            with signals_wait():
                job = _submit(found, folder, queue)
            report(f"probe: job {job[0]} is submitted; waiting for it, at most {seconds:g} s")
            text = _answer(queue, job, folder, seconds)
            job = None
            return parse_probe(text)
        finally:
            if job:
                answer = run(queue.cancel_command(*job), seconds=SUBMIT_SECONDS)
                text = f"; {answer.command} {answer.failure}" if answer.failure else ""
                report(f"probe: job {job[0]} is cancelled{text}")


@contextmanager
def _folder() -> Iterator[Path]:
    """A new folder in the working folder, for the node's answer; it is removed at the end."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=".jobgen-probe-", dir=os.getcwd()))
    except OSError as error:
        hint = "cd to a folder that you may write to and that compute nodes share"
        text = f"no folder can be made here: {error.strerror}"
        raise no_answer("--probe", text, "probe", hint) from None
    try:
        yield folder
    finally:
        for _ in range(20):  # a job that was just cancelled may still write into the folder
            shutil.rmtree(folder, ignore_errors=True)
            if not folder.exists():
                break
            time.sleep(0.1)


def _sbatch(found: Findings) -> tuple[str, ...]:
    gpu = ":".join(filter(None, ("gpu", found.kind.gpu_type, "1")))
    options = {
        "partition": found.partition.name,
        "account": found.account,
        "constraint": found.constraint,
        "gres": gpu if found.kind.gpus else "",
    }
    return (
        *("--job-name=jobgen-probe", "--output=/dev/null"),
        *("--nodes=1", "--ntasks=1", "--time=1"),
        *(f"--{name}={value}" for name, value in options.items() if value),
    )


def _qsub(found: Findings) -> tuple[str, ...]:
    uses_gpus = found.kind.gpus and found.cluster.gpu_option == "ngpus"
    chunk = ["1:ncpus=1", "ngpus=1" if uses_gpus else "", found.constraint]
    account = ("-A", found.account) if found.account else ()
    return (
        *("-N", "jobgen-probe", "-q", found.partition.name, *account),
        *("-l", f"select={':'.join(filter(None, chunk))}"),
        *("-l", f"walltime={found.partition.least_time or '00:01:00'}"),
        *("-j", "oe", "-o", "/dev/null", "-m", "n"),
    )


def _submit(found: Findings, folder: Path, queue: JobQueue) -> JobId:
    script = SCRIPT.read_text(encoding="utf-8")
    environments = shlex.quote("\n".join(environment_folders(os.environ)))
    text = f"#!/bin/sh\nfolder={shlex.quote(str(folder))}\nenvironments={environments}\n{script}"
    words = _qsub(found) if found.cluster.scheduler == "pbs" else _sbatch(found)
    words += tuple(word for option in found.directives for word in shlex.split(option))
    answer = run((*queue.submit, *words), text, SUBMIT_SECONDS)
    job = next(filter(None, map(queue.parse_id, answer.text.splitlines())), None)
    if answer.failure or not job:
        hint = "what your site demands of every job: --account NAME, --directive OPTION"
        text = f"{answer.command} {answer.failure or 'printed no id'}"
        raise no_answer("--probe", text, "probe", hint)
    return job


def _answer(queue: JobQueue, job: JobId, folder: Path, seconds: float) -> str:
    """Wait for the job's file, and return its text. Raises JobgenError if no file comes."""
    limit = time.monotonic() + seconds
    state, next_query, ended = "", 0.0, 0.0
    while time.monotonic() < limit:
        if "answer" in os.listdir(folder):  # listing makes a network file system refresh
            with suppress(OSError):
                return (folder / "answer").read_text(encoding="utf-8", errors="replace")
        if time.monotonic() > next_query:
            next_query = time.monotonic() + QUERY_PAUSE
            state = _state(queue, job) or state
            ended = ended or (time.monotonic() if state == "ENDED" else 0.0)
        if ended and time.monotonic() > ended + LATE_FILE_SECONDS:
            hint = "run it in a folder that compute nodes share; see why jobs fail in the queue"
            text = f"job {job[0]} has ended, and its answer is not in {folder.parent}"
            raise no_answer("--probe", text, "probe", hint)
        time.sleep(PAUSE)
    text = f"job {job[0]} has not answered within {seconds:g} s" + (f" ({state})" if state else "")
    raise no_answer("--probe", text, "probe", "--probe-limit SECONDS, or run it without --probe")


def _state(queue: JobQueue, job: JobId) -> str:
    """The job's state with its reason; "ENDED" after its end; "" if the state is not known."""
    status, error = queue.status(*job, SECONDS)
    if status is None:
        return "ENDED" if re.search(queue.unknown_job_pattern, error) else ""
    return f"{status.state} {status.note}".rstrip() if status.exit_status is None else "ENDED"
