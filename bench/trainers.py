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


def saving(name: str) -> None:
    """What a snapshot and a line of metrics an epoch add to epochs of about 1 s, in turns."""
    import torch

    spec = importlib.util.spec_from_file_location(name, TRAINERS / f"{name}.py")
    assert spec
    assert spec.loader
    trainer = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(trainer)
    device = "cuda" if torch.cuda.is_available() else "cpu"
    vgg = name == "cifar10_vgg"
    model = (trainer.vgg11() if vgg else torch.nn.Linear(20, 1)).to(device)
    inputs = torch.rand((64, 3, 32, 32) if vgg else (64, 20), device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)

    def steps(number: int) -> float:
        began = time.perf_counter()
        for _ in range(number):
            optimizer.zero_grad()
            model(inputs).square().mean().backward()
            optimizer.step()
        if device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter() - began

    def epochs(number: int, folder: str | None) -> float:
        """Seconds for ten of them; with a folder, all is saved there after each."""
        began, written = time.perf_counter(), None
        for _ in range(10):
            steps(number)
            if folder:
                state = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
                trainer.note(f"{folder}/metrics", {"epoch": 1, "loss": 0.5, "seconds": 1.0})
                if written:
                    written.result()
                written = trainer.save(f"{folder}/snapshot", 0, 1, state)
        if written:
            written.result()
        return time.perf_counter() - began

    steps(5)
    number = max(1, round(10 / steps(10)))
    with tempfile.TemporaryDirectory(dir=HERE) as folder:
        pairs = [(epochs(number, folder), epochs(number, None)) for _ in range(TURNS)]
        size = os.path.getsize(f"{folder}/snapshot") / 1e6
    ratio = statistics.median(one / other for one, other in pairs)
    print(f"{name}: a snapshot of {size:.2f} MB and a line of metrics after each epoch of", end=" ")
    print(f"{pairs[0][1] / 10:.1f} s: {ratio - 1:.1%} more time")


def main() -> None:
    import torch
    import torch.distributed as dist

    vgg()
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    dist.init_process_group("gloo", rank=0, world_size=1)
    cores = torch.get_num_threads()
    for name, threads in (
        ("regression", cores),
        ("cifar10_vgg", cores),
        ("cifar10_vgg", cores - 1),
    ):
        if threads:
            torch.set_num_threads(threads)
            print(f"{threads} of {cores} cores compute; ", end="")
            saving(name)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
