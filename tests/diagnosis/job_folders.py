"""Writes folders as a job's script leaves them: two nodes, nA and nB, with two ranks each."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.job_folder.verdict import diagnose_folder
from jobgen.diagnosis.report import as_line

LABELS = "".join(f"{host} rank {n}: began\n" for n, host in enumerate(("nA", "nA", "nB", "nB")))
LOST = "RuntimeError: [pair.cc:553] Connection closed by peer [10.1.0.2]:70"
TORCHRUN = "E1122 20:22:36.120000 58 torch/distributed/elastic/multiprocessing/api.py:1002]"
CANCELLED = "srun: error: nA: task 0: Terminated\nsrun: Force Terminated StepId=7.1\n"
TORCH = "/opt/python/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"


def place_of(rank: int, attempt: int = 0, run: str = "7_a") -> str:
    """The folder of a rank, as torchrun makes it."""
    return f"n{'AB'[rank // 2]}/{run}/attempt_{attempt}/{rank % 2}"


def stderr_of(rank: int, attempt: int = 0) -> str:
    return f"{place_of(rank, attempt)}/stderr.log"


def traceback(rank: int, error: str) -> str:
    """An exception as torch's hook prints it in a rank."""
    lines = ("Traceback (most recent call last):", '  File "/home/me/train.py", line 88, in main')
    return "".join(f"[rank{rank}]: {line}\n" for line in (*lines, "    step()", error))


def lost(*ranks: int) -> dict[str, str]:
    """What ranks write that another one left."""
    return {stderr_of(rank): traceback(rank, LOST) for rank in ranks}


def ends(rank: int, status: int, host: str = "localhost") -> str:
    """What torchrun reports of a rank that failed."""
    pid = 900 + rank
    return (
        f"{TORCHRUN} failed (exitcode: {status}) local_rank: {rank % 2} (pid: {pid}) of binary: p\n"
        f"Root Cause (first observed failure):\n[0]:\n  time      : 2026-11-22_20:22:36\n"
        f"  host      : {host}\n  rank      : {rank} (local_rank: {rank % 2})\n"
        f"  exitcode  : {status} (pid: {pid})\n  error_file: <N/A>\n"
        f"{'=' * 60}\n"
    )


def stack(file: str, line: int, function: str) -> str:
    """What SIGABRT leaves with PYTHONFAULTHANDLER=1."""
    return (
        "Fatal Python error: Aborted\n\nCurrent thread 0x00007f05 (most recent call first):\n"
        f'  File "{file}", line {line} in {function}\n  File "/home/me/train.py", line 90 in main\n'
        "\nExtension modules: torch._C (total: 1)\n"
    )


def waiting(*ranks: int) -> dict[str, str]:
    return {stderr_of(rank): stack(TORCH, 3252, "all_reduce") for rank in ranks}


def write_folder(top: Path, files: Mapping[str, str], *, labels: str = LABELS) -> Path:
    """A job's folder; every rank has a file, if it is empty, and labels in the job's stderr."""
    folder = top / "jobgen-logs" / "7"
    empty = {stderr_of(rank): "" for rank in range(4)}
    stderr = labels + files.get("stderr", "")
    for name, text in {"status": "1\n", **empty, **files, "stderr": stderr}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def judged(top: Path, files: Mapping[str, str], *, labels: str = LABELS) -> Verdict:
    return diagnose_folder(str(write_folder(top, files, labels=labels)))


def line_of(top: Path, files: Mapping[str, str]) -> str:
    """The verdict's line, without its beginning and its end."""
    line = as_line(judged(top, files))
    assert line.startswith("jobgen: ")
    assert line.endswith("\n")
    assert len(line.splitlines()) == 1
    assert len(line) <= 301
    return line.removeprefix("jobgen: ").rstrip("\n")
