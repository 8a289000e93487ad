"""The message of an exception may stand in the line below its type."""

from __future__ import annotations

import pytest

from jobgen.diagnosis.events import Verdict
from tests.helpers import diagnose_text

HEAD = """\
Traceback (most recent call last):
  File "/p/train.py", line 30, in <module>
    main()
"""
STARTED = "An attempt has been made to start a new process before this one has begun"


def verdict_on(*lines: str, label: str = "") -> Verdict:
    return diagnose_text("".join(f"{label}{line}\n" for line in [*HEAD.splitlines(), *lines]))


@pytest.mark.parametrize("label", ["", "[rank3]: ", "gpu08 rank 3: "])
@pytest.mark.parametrize(
    "message",
    [
        STARTED,
        f"        {STARTED}",
        "AutoModel requires the PyTorch library but it was not found in your environment",
        "`flash_attn` is not there",
        "expected scalar type Half but found Float",
        "Please restart the job from its checkpoint",
    ],
)
def test_it_is_joined(label: str, message: str) -> None:
    verdict = verdict_on("RuntimeError:", message, label=label)
    assert verdict.says == f"RuntimeError: {message.strip()}"
    assert verdict.evidence[0].line == 5
    assert verdict.evidence[0].where == "/p/train.py:30 in <module>"


@pytest.mark.parametrize(
    "other",
    [
        f"[rank1]: {STARTED}",
        f"gpu08 rank 1: {STARTED}",
        "srun: error: gpu08: task 0: Exited with exit code 1",
        "gpu08: the node is ready now",
        "KeyError: 'lr'",
        "============================================================",
        "W1122 19:00:00.123000 71 torch/distributed/run.py:792] it ends the other ranks",
        "2026-11-22 19:00:00 the epoch begins",
        "INFO the epoch begins",
        "step 12 of epoch 3: loss 0.71",
        "Epoch 3: 20%|##        | 2/10",
        "Training has finished after 3 epochs",
        "Aborted (core dumped)",
        "Exception in thread Thread-1:",
        "During handling of the above exception, another exception occurred:",
        '  File "/p/train.py", line 31, in main',
        'File "/p/train.py", line 31, in main',
        "",
        "Done",
        HEAD.splitlines()[0],
    ],
)
def test_another_line_is_no_message(other: str) -> None:
    verdict = verdict_on("RuntimeError:", other)
    assert not any("RuntimeError: " in event.says for event in verdict.chain)


@pytest.mark.parametrize("last", ["RuntimeError: the rate is negative", "RuntimeError"])
def test_an_exception_that_has_its_message_or_none_takes_no_line(last: str) -> None:
    assert verdict_on(last, STARTED).says == last


def test_between_type_and_message_only_other_ranks_may_write() -> None:
    lines = ["RuntimeError:", "step 7", STARTED]
    assert verdict_on(*lines).says == "RuntimeError:"
    labelled = [f"[rank3]: {line}\n" for line in [*HEAD.splitlines(), lines[0], lines[2]]]
    labelled.insert(-1, "[rank1]: step 7\n")
    verdict = diagnose_text("".join(labelled))
    assert (verdict.says, verdict.rank) == (f"RuntimeError: {STARTED}", 3)


def test_a_message_that_a_class_knows_by_its_beginning_is_of_this_class() -> None:
    message = "Could not override 'optimizer.lrr'. To append to your config use +optimizer.lrr=1"
    verdict = verdict_on("hydra.errors.ConfigCompositionException:", message)
    assert verdict.code == "arguments"
    assert verdict.evidence[0].where == "/p/train.py:30 in <module>"
