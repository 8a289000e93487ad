"""Jobs with another torch than the tests', such as the oldest: what the scripts rely on holds.

TORCH_LAB_PYTHON names a Python that has it.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from pathlib import Path

import pytest

from tests.cluster.harness import Cluster
from tests.cluster.jobs import ON_CPU, PATH, Desk
from tests.cluster.test_first_failure import test_fault_of_one_rank as fail_by
from tests.cluster.test_first_failure import test_long_lines_stay_whole as keep_lines_whole
from tests.cluster.test_survival import EPOCHS, Training, killed, spare_taken

PYTHON = os.environ.get("TORCH_LAB_PYTHON", "")
ALL_TOGETHER = re.compile(r"All 4 ranks took one DDP step together")

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.skipif(not PYTHON, reason="TORCH_LAB_PYTHON names no Python with another torch"),
]


@pytest.fixture
def other(cluster: Cluster, tmp_path: Path) -> Desk:
    """Its jobs find that Python first, and jobgen behind it."""
    return Desk(cluster, tmp_path, f"{Path(PYTHON).parent}:{PATH}")


def test_a_plain_job(other: Desk) -> None:
    """The roll call has its version: the tests here do run with it."""
    words = ("--set", "launch.processes_per_node=2", "--trainer", "elastic_ddp", "-N", "2")
    done = other.run("--profile", "dgx-a100", *ON_CPU, *words)
    assert done.state == "COMPLETED", done.labelled
    command = [PYTHON, "-c", "import torch; print(torch.__version__)"]
    version = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert done.output.count(f": torch {version.partition('+')[0]}") == 2, done.output
    assert ALL_TOGETHER.search(done.output), done.output


def test_lines(other: Desk) -> None:
    keep_lines_whole(other, "torchrun")


@pytest.mark.parametrize("fault", ["exception", "kill", "segmentation"])
def test_a_failure(other: Desk, fault: str) -> None:
    fail_by(fault, other)


SURVIVED = {"killed": killed(0), "killed on the first node": killed(1), "spare": spare_taken}


@pytest.mark.parametrize("name", SURVIVED)
def test_a_training_goes_on(other: Desk, name: str) -> None:
    training = Training(other, 0, random.Random(0), other.folder / "model.pt")
    SURVIVED[name](training)
    done = training.wait()
    assert done.state == "COMPLETED", done.output
    assert training.epochs() == list(range(EPOCHS)), done.output
    assert "Resuming from" in training.output()
