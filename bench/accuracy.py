"""The test accuracy of cifar10_vgg on a GPU: in bfloat16, as it computes there, and in float32.

All runs share the GPU, side by side: this measures no time. It needs CIFAR-10's binary files.

    python bench/accuracy.py --data FOLDER [--epochs N] [--seeds N]
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from jobgen.trainers import source

NAME = "cifar10_vgg"
WAYS = {"bfloat16": (), "bfloat16, compiled": ("--compile",), "float32": ("--float32",)}


def start(
    folder: Path, words: tuple[str, ...], data: str, epochs: int, seed: int
) -> subprocess.Popen[str]:
    """A training of its own."""
    folder.mkdir()
    program = folder / f"{NAME}.py"
    program.write_text(source(NAME), encoding="utf-8")
    command = [sys.executable, str(program), str(epochs), "1000", "--data", data]
    command += ["--seed", str(seed), *words]
    environment = {**os.environ, "NVIDIA_TF32_OVERRIDE": "0"}  # float32 is not TF32
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)


def accuracy(training: subprocess.Popen[str]) -> float:
    """Percent of the test images."""
    output = training.communicate()[0]
    found = re.search(r"^Test accuracy: ([\d.]+)%", output, re.MULTILINE)
    if training.returncode or not found:
        raise SystemExit(f"a training failed, with status {training.returncode}")
    return float(found[1])


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description="the accuracy of bfloat16 and of float32")
    parser.add_argument("--data", required=True)
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=3)
    args = parser.parse_args()
    data = str(Path(args.data).resolve())
    print(f"{NAME}, {args.epochs} epochs, {args.seeds} seeds, {torch.cuda.get_device_name()}")
    with tempfile.TemporaryDirectory() as folder:
        trainings = {
            (way, seed): start(Path(folder, f"{way} {seed}"), words, data, args.epochs, seed)
            for way, words in WAYS.items()
            for seed in range(args.seeds)
        }
        found = {key: accuracy(training) for key, training in trainings.items()}
    for way in WAYS:
        values = [value for (name, _), value in found.items() if name == way]
        each = ", ".join(f"{value:.2f}" for value in sorted(values))
        spread = max(values) - min(values)
        print(f"  {way:<20} mean {statistics.mean(values):.2f} %, spread {spread:.2f} ({each})")


if __name__ == "__main__":
    main()
