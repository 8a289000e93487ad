"""What a job got over is no cause; what it did not get over is one, whatever others wrote."""

from __future__ import annotations

import io

import pytest

from jobgen.diagnosis.engine import Source, diagnose
from jobgen.diagnosis.events import Verdict
from jobgen.diagnosis.files import path_label
from tests.helpers import diagnose_text

OUT_OF_MEMORY = """\
Traceback (most recent call last):
  File "/home/u/train.py", line 99, in step
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB.
"""
KEY_ERROR = """\
Traceback (most recent call last):
  File "/home/u/train.py", line 120, in main
    cfg["lr"]
KeyError: 'lr'
srun: error: gpu08: task 0: Exited with exit code 1
"""
NODE_LOST = """\
srun: error: Node failure on n13
slurmstepd: error: *** JOB 810 ON n12 CANCELLED AT 2026-11-26T01:00:00 DUE TO NODE FAILURE, SEE \
SLURMCTLD LOG FOR DETAILS ***
"""
RESUMES = "Resuming from checkpoint step 1000\n"


def steps(*numbers: int) -> str:
    return "".join(f"step {number} loss 2.0\n" for number in numbers)


def got_over(verdict: Verdict) -> bool:
    return any(note.startswith("recovered from: ") for note in verdict.notes)


@pytest.mark.parametrize(
    "notice",
    [
        "2026-11-26 10:00:05 ERROR out of memory at step 11, skipping this batch",
        "WARNING: CUDA out of memory in step 11, skipping batch",
        "out of memory in step 11, retrying with a smaller batch",
    ],
)
def test_the_notice_may_stand_above_the_traceback_that_the_job_got_over(notice: str) -> None:
    went_on = steps(10) + f"{notice}\n" + OUT_OF_MEMORY + steps(12, 13, 14)
    verdict = diagnose_text(went_on + KEY_ERROR)
    assert (verdict.code, verdict.says) == ("python-exception", "KeyError: 'lr'")
    assert verdict.notes == ("recovered from: the GPU ran out of memory, log:6",)
    assert diagnose_text(went_on).code is None


def test_a_notice_above_the_traceback_of_another_rank_says_nothing_of_it() -> None:
    above = "[rank1]: a sample cannot be decoded, skipping it\n"
    error = "".join(f"[rank0]: {line}\n" for line in OUT_OF_MEMORY.splitlines())
    verdict = diagnose_text(above + error + steps(12, 13, 14) + KEY_ERROR)
    assert (verdict.code, got_over(verdict)) == ("gpu-memory", False)


def test_a_notice_without_progress_behind_it_is_no_survival() -> None:
    verdict = diagnose_text(f"ERROR out of memory, skipping this batch\n{OUT_OF_MEMORY}{KEY_ERROR}")
    assert (verdict.code, got_over(verdict)) == ("gpu-memory", False)


@pytest.mark.parametrize("aborted", ["", "srun: error: n12: tasks 0-7: Killed\n"])
def test_a_job_that_started_again_on_other_nodes_got_over_a_lost_node(aborted: str) -> None:
    log = steps(1000) + NODE_LOST + aborted + RESUMES + steps(1001, 2000) + KEY_ERROR
    verdict = diagnose_text(log)
    assert (verdict.code, verdict.node) == ("python-exception", "gpu08")
    assert got_over(verdict)


def test_a_lost_node_is_the_cause_if_no_new_start_goes_on() -> None:
    assert diagnose_text(steps(1000) + NODE_LOST + KEY_ERROR).code == "node-lost"
    assert diagnose_text(steps(1000) + NODE_LOST + RESUMES + KEY_ERROR).code == "node-lost"
    assert diagnose_text(steps(1000) + NODE_LOST + steps(1001, 1002) + KEY_ERROR).node == "n13"


def judged(**logs: str) -> Verdict:
    """The verdict on logs, by their names without the point before a suffix of three letters."""
    streams = {f"{name[:-3]}.{name[-3:]}": io.BytesIO(text.encode()) for name, text in logs.items()}
    return diagnose(Source(name, stream, path_label(name)) for name, stream in streams.items())


def test_the_progress_of_another_file_is_not_that_of_one_that_ends_with_an_error() -> None:
    verdict = judged(rank0log=steps(1, 2), rank1log="[rank1]: ValueError: bad\n")
    assert (verdict.code, verdict.rank, verdict.certainty) == ("python-exception", 1, "possible")
    verdict = judged(run1log=steps(1, 2), run2log=f"{steps(1)}ValueError: bad sample\n")
    assert (verdict.says, verdict.certainty) == ("ValueError: bad sample", "possible")
    verdict = judged(run1log=steps(1, 2), run2log=f"ValueError: bad sample\n{steps(1, 2, 3)}")
    assert verdict.code is None


def test_the_other_stream_of_the_same_process_shows_that_it_went_on() -> None:
    error = "ValueError: bad sample\n"
    assert judged(trainout=steps(1, 2), trainerr=error).code is None
    assert judged(trainout="", trainerr=error).code == "python-exception"
    assert judged(train0out=steps(1, 2), train1err=error).code == "python-exception"


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ("bash: line 3: torchrun: command not found", "batch-script"),
        ("python: can't open file '/home/u/train.py': [Errno 2] No such file", "program-missing"),
        ("slurmstepd: error: execve(): train.sh: Permission denied", "program-missing"),
        ("slurmstepd: error: Detected 1 oom_kill event in StepId=12.0.", "host-memory"),
        ("srun: error: gpu08: task 0: Killed", "killed"),
        ("ImportError: libcudart.so.12: cannot open shared object file: No such file", "library"),
    ],
)
@pytest.mark.parametrize("end", ["Job finished at Mon Nov 3", "Done", "All done", "Job complete"])
def test_a_script_that_says_that_it_is_done_has_got_over_nothing(
    error: str, code: str, end: str
) -> None:
    assert diagnose_text(f"step 1 loss 2.0\n{error}\n{end}\n").code == code


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (
            "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB",
            "gpu-memory",
        ),
        ("NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, GPU has fallen off the bus.", "gpu-hardware"),
    ],
)
def test_what_other_ranks_had_done_before_is_no_progress(error: str, code: str) -> None:
    buffered = "[rank0]: step 20\n[rank1]: step 19\n[rank2]: step 20\n[rank4]: step 20\n"
    assert diagnose_text(f"{steps(19)}{error}\n{buffered}").code == code


def test_after_a_new_start_the_numbers_may_be_smaller() -> None:
    restarted = f"{steps(900)}{NODE_LOST}{RESUMES}{steps(100, 101, 102)}"
    verdict = diagnose_text(f"{restarted}[rank7]: ValueError: bad sample\n{KEY_ERROR}")
    assert verdict.code == "python-exception"
