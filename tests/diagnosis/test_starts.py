"""A job that ends where it waits for ranks at its start, and what ends no process."""

from __future__ import annotations

from io import BytesIO

import pytest

from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.report import as_text
from tests.diagnosis.test_what_a_line_says import verdict_on

BROKEN = """\
Traceback (most recent call last):
  File "{file}", line 245, in {function}
    send_bytes(obj)
  File "/usr/lib/python3.10/multiprocessing/connection.py", line 373, in _send
    n = write(self._handle, buf)
{error}
"""
FEEDER = {"file": "/usr/lib/python3.10/multiprocessing/queues.py", "function": "_feed"}
PIPE = "BrokenPipeError: [Errno 32] Broken pipe"


@pytest.mark.parametrize("error", [PIPE, "ConnectionResetError: [Errno 104] Connection reset"])
def test_a_thread_that_feeds_a_queue_ends_no_process(error: str) -> None:
    verdict = verdict_on(f"step 1 loss 3.1\n{BROKEN.format(error=error, **FEEDER)}")
    assert verdict.code is None
    assert "note: a thread wrote to a queue whose reader had gone" in as_text(verdict)


@pytest.mark.parametrize(
    ("place", "error"),
    [
        ({**FEEDER, "function": "put"}, PIPE),
        ({**FEEDER, "file": "/p/queues.py"}, PIPE),
        (FEEDER, "TypeError: cannot pickle '_thread.lock' object"),
    ],
)
def test_another_thread_or_error_is_a_failure(place: dict[str, str], error: str) -> None:
    assert verdict_on(BROKEN.format(error=error, **place)).code == "python-exception"


def test_the_feeder_of_a_queue_hides_no_failure() -> None:
    oom = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB"
    verdict = verdict_on(f"{oom}\n{BROKEN.format(error=PIPE, **FEEDER)}")
    assert verdict.code == "gpu-memory"


def joining(*ranks: int, world: int = 4) -> str:
    return "".join(f"initializing ddp: GLOBAL_RANK: {n}, MEMBER: {n + 1}/{world}\n" for n in ranks)


def on_files(*texts: str) -> Verdict:
    return diagnose([Source(f"{i}.log", BytesIO(text.encode())) for i, text in enumerate(texts)])


SLURM = "[2026-01-02 10:00:00,095][lightning][INFO] - Multi-processing is handled by Slurm.\n"


@pytest.mark.parametrize(
    ("texts", "words", "line"),
    [
        ([f"GPU available: True\n{joining(1, 0)}"], "of 4 ranks, 2, 3 never began", 3),
        ([f"{joining(0)}\n\n"], "of 4 ranks, 1, 2, 3 never began", 1),
        ([joining(0), joining(1)], "of 4 ranks, 2, 3 never began", 1),
        ([f"GPU available: True\n{SLURM}"], "Slurm was to start its ranks", 2),
    ],
)
def test_a_job_that_ends_where_lightning_waits_may_have_hung(
    texts: list[str], words: str, line: int
) -> None:
    verdict = on_files(*texts)
    assert (verdict.code, verdict.certainty) == ("silent-hang", "possible")
    assert words in verdict.says
    assert "--ntasks-per-node" in verdict.cure
    assert verdict.evidence[0].line == line


@pytest.mark.parametrize(
    "texts",
    [
        [joining(0, 1, 2, 3)],
        [joining(0), joining(1), joining(2), joining(3)],
        [joining(2, 3)],  # the node's file: the first rank writes in another one
        [f"{joining(0)}All DDP processes registered. Starting ddp with 4 processes\n"],
        [f"{joining(0)}All distributed processes registered. Starting with 2\n{joining(1)}"],
        [f"{joining(0)}epoch 1\n"],
        [joining(0), "epoch 1\n"],
        [f"{SLURM}epoch 1\n"],
        [SLURM, f"{joining(0)}epoch 1\n"],
    ],
)
def test_a_job_that_goes_on_has_not_hung(texts: list[str]) -> None:
    assert on_files(*texts).code is None


CUT = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "/p/train.py", line 9, in main
[rank1]:     data = load(path)
[rank1]:   File "/v/lib/python3.12/site-packages/datasets/load.py", line 1470, in load_from_disk
[rank1]:     return Dataset.load_from_disk(path)
"""
LOST = '[rank5]:[W] Failed to check the "should dump" flag on TCPStore, with error: Broken pipe\n'


def test_a_traceback_without_its_last_line_is_named_where_nothing_else_is_known() -> None:
    verdict = verdict_on(f"{CUT}{LOST}")
    assert verdict.code is None
    assert "a.log:4: a traceback breaks off, in datasets/load.py in load_from_disk" in as_text(
        verdict
    )
    ended = verdict_on(f"{CUT}[rank1]: ValueError: not there\n{LOST}")
    assert ended.code == "python-exception"
    assert not verdict_on(LOST).notes
    assert not ended.notes
