"""The speed of the packaged trainer of VGG11, and the time that snapshots add to a training.

Prints ratios to references that are measured in turns: plain_vgg.py, and epochs without snapshots.

    python bench/trainers.py [TURNS]
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from jobgen.trainers import source

HERE = Path(__file__).parent
EPOCHS = 10  # of about 1 s, for the cost of snapshots
TRAINER: dict[str, tuple[str, ...]] = {"packaged trainer": ()}
TUTORIAL = "tutorials' script"
# Of an image: three times the 153 million multiply-adds of forward, for backward, too.
OPERATIONS = 3 * 2 * 153e6


def import_trainer(name: str) -> ModuleType:
    """A packaged trainer as a module, as a script carries it."""
    trainer = ModuleType(name)
    exec(compile(source(name), f"{name}.py", "exec"), trainer.__dict__)
    return trainer


def rate_of_trainer(images: int, batch_size: int, folder: str, *options: str) -> float:
    """Images per second of the packaged trainer, in its fourth epoch: the first ones compile."""
    arguments = ["4", "9", "--synthetic", str(images), "--batch-size", str(batch_size), *options]
    arguments += ["--metrics", f"{folder}/metrics", "--snapshot", f"{folder}/snapshot"]
    for file in Path(folder).iterdir():
        file.unlink()
    program = Path(folder, "cifar10_vgg.py")
    program.write_text(source("cifar10_vgg"), encoding="utf-8")
    command = [sys.executable, str(program), *arguments]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    last_line = Path(folder, "metrics").read_text().splitlines()[-1]
    return float(json.loads(last_line)["images_per_s"])


def rate_of_tutorial(images: int, batch_size: int) -> float:
    """Images per second of plain_vgg.py, in its second epoch."""
    arguments = ["--images", str(images), "--batch-size", str(batch_size)]
    command = [sys.executable, str(HERE / "plain_vgg.py"), *arguments]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def matrix_speed() -> float:
    """Operations per second of this GPU when it multiplies matrices in bfloat16."""
    import torch

    side, times = 8192, 20
    matrix = torch.randn(side, side, device="cuda", dtype=torch.bfloat16)
    matrix @ matrix
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(times):
        matrix @ matrix
    torch.cuda.synchronize()
    return times * 2 * side**3 / (time.perf_counter() - start)


def print_speed(turns: int) -> None:
    """The speed of the packaged trainer, and its ratio to that of the tutorials' script."""
    import torch

    cuda = torch.cuda.is_available()
    images, batch_size = (50_000, 1024) if cuda else (1024, 128)
    ways = TRAINER | ({"with --compile": ("--compile",)} if cuda else {})
    rates: dict[str, list[float]] = {name: [] for name in [*ways, TUTORIAL]}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(turns):
            for name, options in ways.items():
                rates[name].append(rate_of_trainer(images, batch_size, folder, *options))
            rates[TUTORIAL].append(rate_of_tutorial(images, batch_size))
    device = torch.cuda.get_device_name() if cuda else f"{os.cpu_count()} cores"
    print(f"cifar10_vgg, batches of {batch_size}, {device}, torch {torch.__version__}")
    print(f"medians of {turns} turns{'images/s':>19}{'ratio':>9}{'of the GPU' if cuda else '':>13}")
    speed = matrix_speed() if cuda else 0.0
    for name, each in rates.items():
        rate = statistics.median(each)
        pairs = zip(each, rates[TUTORIAL], strict=True)
        ratio = statistics.median(own / reference for own, reference in pairs)
        share = f"{rate * OPERATIONS / speed:>13.1%}" if cuda else ""
        print(f"  {name:<20}{rate:>14.0f}{ratio:>9.2f}{share}")
    if cuda:
        print(f"  matrices in bfloat16: {speed / 1e12:.0f} TFLOP/s")


def make_training(trainer: ModuleType, folder: str) -> tuple[Any, Any]:
    """A training of the packaged trainer that saves to the folder, and a batch for its model."""
    import torch

    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    vgg = trainer.__name__ == "cifar10_vgg"
    model = (trainer.vgg11() if vgg else torch.nn.Linear(20, 1)).to(device)
    inputs = torch.rand((64, trainer.CHANNELS, 32, 32) if vgg else (64, 20), device=device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    args = Namespace(seed=0, batch_size=len(inputs))
    args.snapshot, args.metrics = f"{folder}/snapshot", f"{folder}/metrics"
    parts = {"model": model, "optimizer": optimizer}
    return trainer.Training(args, device, len(inputs), "bench", parts), inputs


def seconds_of_steps(training: Any, inputs: Any, steps: int) -> float:
    """The seconds of some steps of a training, all with the same batch."""
    import torch

    optimizer = training.parts["optimizer"]
    start = time.perf_counter()
    for _ in range(steps):
        optimizer.zero_grad()
        training.forward(inputs).square().mean().backward()
        optimizer.step()
    if inputs.is_cuda:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def seconds_of_epochs(
    training: Any, inputs: Any, steps: int, after_epoch: Callable[[int], None]
) -> float:
    """The seconds of all epochs, until the last snapshot is written."""
    start = time.perf_counter()
    for epoch in range(EPOCHS):
        seconds_of_steps(training, inputs, steps)
        after_epoch(epoch)
    training.writing.result()
    return time.perf_counter() - start


def print_cost_of_snapshots(name: str, turns: int) -> None:
    """The time that a snapshot and a line of metrics add to each epoch of about 1 s."""
    import torch

    trainer = import_trainer(name)
    with tempfile.TemporaryDirectory(dir=HERE) as folder:  # on a disk: /tmp may be in memory
        training, inputs = make_training(trainer, folder)
        seconds_of_steps(training, inputs, 5)
        steps = max(1, round(10 / seconds_of_steps(training, inputs, 10)))

        def save(epoch: int) -> None:
            values = {"epoch": epoch, "loss": 0.5, "seconds": 1.0}
            trainer.append_metrics(training.metrics, values)
            training.save(0.0)

        pairs = [
            (
                seconds_of_epochs(training, inputs, steps, save),
                seconds_of_epochs(training, inputs, steps, lambda epoch: None),
            )
            for _ in range(turns)
        ]
        megabytes = os.path.getsize(f"{folder}/snapshot") / 1e6
        del training.forward  # it must not outlive the process group
    ratio = statistics.median(with_saves / without for with_saves, without in pairs)
    epoch = statistics.median(without for _, without in pairs) / EPOCHS
    threads, cores = torch.get_num_threads(), os.cpu_count()
    line = f"  {name:<12}{threads:>4} of {cores} cores{megabytes:>10.2f} MB{epoch:>9.1f} s"
    print(f"{line}{ratio - 1:>12.1%}")


def main() -> None:
    import torch
    import torch.distributed as dist

    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    print_speed(turns)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    dist.init_process_group("gloo", rank=0, world_size=1)
    print(
        f"the cost of a snapshot and a line of metrics after each epoch; medians of {turns} turns"
    )
    print(f"  {'':<12}{'threads':>12}{'snapshot':>13}{'epoch':>11}{'more time':>12}")
    cores = torch.get_num_threads()
    cases = (("regression", cores), ("cifar10_vgg", cores), ("cifar10_vgg", cores - 1))
    for name, threads in cases[1:2] if torch.cuda.is_available() else cases:
        if threads:
            torch.set_num_threads(threads)
            print_cost_of_snapshots(name, turns)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
