"""Runs the packaged trainers as processes of their own, and reads the files that they write."""

from __future__ import annotations

import atexit
import importlib.util
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from jobgen import trainers


def one_thread() -> dict[str, str]:
    """The environment for a trainer: tests run beside others."""
    return {**os.environ, "OMP_NUM_THREADS": "1"}


@cache
def carried(trainer: str) -> Path:
    """The file of a packaged trainer, as a script carries it, in an empty folder."""
    folder = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    file = Path(folder, f"{trainer}.py")
    file.write_text(trainers.source(trainer), encoding="utf-8")
    return file


def command(trainer: str, *arguments: str, ranks: int = 1) -> list[str]:
    """The command for a packaged trainer, or for another file that ends in .py."""
    file = trainer if trainer.endswith(".py") else str(carried(trainer))
    if ranks == 1:
        return [sys.executable, file, *arguments]
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return [*torchrun, f"--nproc-per-node={ranks}", file, *arguments]


def run(
    folder: Path, trainer: str, *arguments: str, ranks: int = 1
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(trainer, *arguments, ranks=ranks),
        cwd=folder,
        env=one_thread(),
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


def run_until(
    line_start: str, folder: Path, trainer: str, *arguments: str, ranks: int
) -> tuple[int, str]:
    """Run it, and send SIGUSR1 to one rank after such a line. Returns exit status and output."""
    process = subprocess.Popen(
        command(trainer, *arguments, ranks=ranks),
        cwd=folder,
        env=one_thread(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    limit = threading.Timer(120, process.kill)  # the line may never come
    limit.start()
    for line in process.stdout:
        if line.startswith(line_start):
            break
    limit.cancel()
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[-1]) if ranks > 1 else process.pid, signal.SIGUSR1)
    output = process.communicate(timeout=120)[0]
    return process.returncode, output


def load(content: bytes) -> dict[str, Any]:
    import torch

    snapshot: dict[str, Any] = torch.load(io.BytesIO(content), weights_only=True)
    return snapshot


def load_file(path: Path) -> dict[str, Any]:
    return load(path.read_bytes())


def read_metrics(folder: Path) -> list[dict[str, float]]:
    return [json.loads(line) for line in (folder / "m.jsonl").read_text().splitlines()]


def import_trainer(name: str) -> ModuleType:
    """A trainer as a script carries it, all its modules in one."""
    spec = importlib.util.spec_from_file_location(name, carried(name))
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
