"""The trainers: VGG11 against the way of tutorials, in turns; what saving costs.

Prints ratios, each against a reference measured in the same run.
"""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
TRAINERS = HERE.parent / "jobgen/trainers"
TURNS = int(sys.argv[1]) if len(sys.argv) > 1 else 3


def ours(images: int, batch: int, folder: str) -> float:
    """Images a second of the packaged trainer, in its second epoch."""
    words = ["2", "9", "--synthetic", str(images), "--batch-size", str(batch)]
    words += ["--metrics", f"{folder}/metrics", "--snapshot", f"{folder}/snapshot"]
    for left in Path(folder).iterdir():
        left.unlink()
    run = [sys.executable, str(TRAINERS / "cifar10_vgg.py"), *words]
    subprocess.run(run, check=True, stdout=subprocess.DEVNULL)
    line = Path(folder, "metrics").read_text().splitlines()[-1]
    return float(json.loads(line)["images_per_s"])


def plain(images: int, batch: int) -> float:
    words = ["--images", str(images), "--batch-size", str(batch)]
    run = [sys.executable, str(HERE / "plain_vgg.py"), *words]
    return float(subprocess.run(run, check=True, capture_output=True, text=True).stdout)


def vgg() -> None:
    import torch

    cuda = torch.cuda.is_available()
    images, batch = (50_000, 1024) if cuda else (1024, 128)
    with tempfile.TemporaryDirectory() as folder:
        pairs = [(ours(images, batch, folder), plain(images, batch)) for _ in range(TURNS)]
    one, other = (statistics.median(rates) for rates in zip(*pairs, strict=True))
    where = torch.cuda.get_device_name() if cuda else f"{os.cpu_count()} cores"
    print(f"cifar10_vgg, batches of {batch}, {where}: {one:.0f} images/s")
    print(f"  {one / other:.2f} times the tutorials' way ({other:.0f} images/s)")
    if cuda:
        side = 8192
        a = torch.randn(side, side, device="cuda", dtype=torch.bfloat16)
        a @ a
        torch.cuda.synchronize()
        began = time.perf_counter()
        for _ in range(20):
            a @ a
        torch.cuda.synchronize()
        peak = 20 * 2 * side**3 / (time.perf_counter() - began)
        # Forward and backward are three times the forward's 153 million multiply-adds an image.
        print(f"  {one * 3 * 2 * 153e6 / peak:.0%} of this card's bf16 matrix speed")


def saving() -> None:
    """What one snapshot and one line of metrics take, as a part of an epoch of 1 s."""
    import torch
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    dist.init_process_group("gloo", rank=0, world_size=1)
    for name in ("regression", "cifar10_vgg"):
        spec = importlib.util.spec_from_file_location(name, TRAINERS / f"{name}.py")
        assert spec
        assert spec.loader
        trainer = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(trainer)
        model = trainer.vgg11() if name == "cifar10_vgg" else torch.nn.Linear(20, 1)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for parameter in model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        optimizer.step()
        times = []
        with tempfile.TemporaryDirectory(dir=HERE) as folder:
            for _ in range(10):
                began = time.perf_counter()
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                trainer.note(f"{folder}/metrics", {"epoch": 1, "loss": 0.5, "seconds": 1.0})
                trainer.save(f"{folder}/snapshot", 0, 1, state)
                times.append(time.perf_counter() - began)
            size = os.path.getsize(f"{folder}/snapshot") / 1e6
            data = os.urandom(int(size * 1e6))
            raw = []
            for _ in range(10):
                began = time.perf_counter()
                with open(f"{folder}/raw", "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                raw.append(time.perf_counter() - began)
        took, bare = statistics.median(times), statistics.median(raw)
        print(f"{name}: a snapshot of {size:.2f} MB and a line of metrics take {took:.1%} of 1 s")
        print(f"  {took / bare:.2f} times a bare write and fsync of as many bytes")
    dist.destroy_process_group()


if __name__ == "__main__":
    vgg()
    saving()
