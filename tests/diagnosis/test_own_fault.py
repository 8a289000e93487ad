"""A chain stops only after what is surely the program's own fault: each start would fail so."""

from __future__ import annotations

from pathlib import Path

import pytest

from jobgen.diagnosis.judging.own_fault import own_fault
from jobgen.diagnosis.report import as_line
from tests.diagnosis.job_folders import ends, judged, stderr_of, traceback

NAME = "NameError: name 'undefined' is not defined"
NCCL = (
    "torch.distributed.DistBackendError: NCCL error in: ProcessGroupNCCL.cpp:1275, unhandled system"
    " error, NCCL version 2.27.5"
)
HANDLER = "\n[rank{}]: During handling of the above exception, another exception occurred:\n\n"
USAGE = "train.py: error: unrecognized arguments: --epoch\n"


def in_handler(rank: int, error: str) -> str:
    """An error, and a mistake in the program's handler of it."""
    return traceback(rank, error) + HANDLER.format(rank) + traceback(rank, NAME)


@pytest.mark.parametrize(
    ("files", "fault"),
    [
        ({stderr_of(0): traceback(0, NAME)}, "NameError"),
        ({stderr_of(n): traceback(n, NAME) for n in range(4)}, "NameError"),
        ({stderr_of(0): traceback(0, NAME), stderr_of(2): traceback(2, NCCL)}, "NameError"),
        ({stderr_of(0): USAGE, "stderr": ends(0, 2)}, "it refused its arguments"),
        ({stderr_of(0): "SyntaxError: invalid syntax\n", "stderr": ends(0, 1)}, "SyntaxError"),
        ({stderr_of(0): in_handler(0, NCCL)}, ""),
        ({stderr_of(n): in_handler(n, NCCL) for n in range(4)}, ""),
        ({stderr_of(0): in_handler(0, "OSError: [Errno 5] Input/output error: 'x'")}, ""),
        ({stderr_of(0): traceback(0, NAME) + traceback(0, "OSError: [Errno 116] Stale file")}, ""),
        ({stderr_of(0): in_handler(0, NCCL), "stderr": ends(2, -9)}, ""),
        ({stderr_of(0): traceback(0, NAME), stderr_of(2): traceback(2, NCCL)}
         | {"stderr": ends(2, 1)}, ""),  # rank 0 has shown it, and gone on
        ({stderr_of(0): traceback(0, NAME), stderr_of(2): traceback(2, NCCL)}
         | {"stderr": ends(0, 1) + ends(2, 1)}, "NameError"),
        ({stderr_of(0): traceback(0, NAME), "stderr": "srun: error: Node failure on nB\n"}, ""),
        ({stderr_of(0): traceback(0, "ValueError: no such sample")}, ""),
    ],
)  # fmt: skip
def test_a_fault_that_is_surely_the_program_s_own(
    tmp_path: Path, files: dict[str, str], fault: str
) -> None:
    verdict = judged(tmp_path, files)
    assert own_fault(verdict) == fault
    assert (f"; a fault of the program ({fault}): " in as_line(verdict)) == bool(fault)
