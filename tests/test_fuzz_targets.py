"""The fuzz targets still fit what they call: each takes one input, without the fuzzer."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from types import ModuleType

import pytest

INPUTS = {
    "profile": b"scheduler: slurm\nnode: {gpus: 1}\n",
    "header": b"sbatch --profile mi210 -N 2 -- train.py",
    "manifest": b"jobs: {a: {profile: mi210, file: '{n}.sh', matrix: {n: [1, 2]}}}\n",
    "script": b"#!/bin/bash\n#SBATCH --nodes=2\nsrun torchrun --nnodes=1 train.py\n",
}


@pytest.fixture
def _no_fuzzer(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module in the place of atheris, which is installed for `make fuzz` alone."""
    atheris = ModuleType("atheris")
    atheris.instrument_imports = lambda include: nullcontext()  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "atheris", atheris)


@pytest.mark.usefixtures("_no_fuzzer")
@pytest.mark.parametrize("name", INPUTS)
def test_a_fuzz_target_takes_an_input(name: str) -> None:
    target: Callable[[bytes], object] = import_module(f"tests.fuzz.{name}").target
    for data in (INPUTS[name], b"", b"\xff"):
        target(data)
