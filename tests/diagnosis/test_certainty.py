"""How sure a verdict is: only a line that names a cause, with no other beside it, is sure."""

from __future__ import annotations

from io import BytesIO

import pytest

from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import Verdict

FULL = "OSError: [Errno 28] No space left on device: '/p/a.pt'\n"
REFUSED = "sbatch: error: Batch job submission failed: Memory specification can not be satisfied\n"
SLOW = "TimeoutError: the reward model was too slow\n"
CRASHED = "Fatal Python error: Segmentation fault\n"


def verdict_on(text: str) -> Verdict:
    return diagnose([Source("a.log", BytesIO(text.encode()))])


@pytest.mark.parametrize(
    ("text", "code", "certainty"),
    [
        (FULL, "disk-full", "sure"),
        (REFUSED, "request-refused", "likely"),  # its reason is quoted, and not known
        (CRASHED, "crash", "possible"),  # an effect, with the cure of its class
        (f'Traceback (most recent call last):\n  File "/p/a.py", line 7, in step\n    x()\n{SLOW}',
         "python-exception", "likely"),  # its place in the program is known
        (SLOW, "python-exception", "possible"),
        ("srun: error: n1: task 0: Exited with exit code 7\n", "launcher-report", "possible"),
    ],
)  # fmt: skip
def test_an_effect_and_a_quoted_reason_are_not_sure(text: str, code: str, certainty: str) -> None:
    verdict = verdict_on(f"step 1\n{text}")
    assert (verdict.code, verdict.certainty) == (code, certainty), verdict


@pytest.mark.parametrize(
    ("above", "certainty"),
    [
        ("worker 3: fatal: the license of the solver has ended\n", "likely"),
        ("the license of the solver is fine\n", "sure"),
        ("worker 3 printed this error:\n", "sure"),  # it only introduces the line
        ("ERROR\n", "sure"),
    ],
)
def test_a_complaint_above_that_no_sign_knows_is_shown(above: str, certainty: str) -> None:
    verdict = verdict_on(f"step 1\n{above}{FULL}")
    assert (verdict.code, verdict.certainty) == ("disk-full", certainty)
    shown = f"or the line above it: {above.strip()}, a.log:2"
    assert verdict.notes == ((shown,) if certainty == "likely" else ())


def test_of_two_causes_the_other_is_shown() -> None:
    port = "OSError: [Errno 98] Address already in use: port 29500\n"
    verdict = verdict_on(f"{FULL}step 1\n{port}")
    assert (verdict.code, verdict.certainty) == ("disk-full", "likely")
    assert verdict.notes == ("or: a port is used by another process, a.log:3",)


def test_what_came_before_the_end_of_the_time_is_first() -> None:
    busy = "srun: Job 7 step creation still disabled, retrying (Requested nodes are busy)\n"
    end = "slurmstepd: error: *** JOB 7 ON n1 CANCELLED AT 2026-11-02T10:00:00 DUE TO TIME LIMIT\n"
    verdict = verdict_on(busy + end)
    assert (verdict.code, verdict.certainty) == ("srun-step", "possible")
    assert "scheduler-limit" in {event.code for event in verdict.chain}


def test_a_last_resort_in_a_known_class_has_one_cure() -> None:
    """The class has many, each for an exception; the log has only a part of torchelastic's JSON."""
    log = (
        "ERROR:torch.distributed.elastic.multiprocessing.errors.error_handler:{\n"
        '  "message": {\n    "message": "NotImplementedError: of this kind",\n'
        '    "extraInfo": {\n      "py_callstack": [\n'
        '        "  File \\"/proj/train.py\\", line 8, in main\\n    load()\\n",\n'
    )
    verdict = verdict_on(log)
    assert verdict.code == "python-exception"
    assert "not supported there" in verdict.cure
    assert "Cure of" not in verdict.cure
