"""VGG11 on CIFAR-10 with DDP, on one device or on many nodes, that resumes exactly.

    torchrun --nproc-per-node=4 cifar10_vgg.py 30 5 --data /shared/cifar10 --download
    python3 cifar10_vgg.py 10 1 --synthetic

It saves and resumes as regression.py does. The images stay on the device, which also augments them;
on GPUs it computes in bfloat16. It runs under torchrun, under `srun python3` with MASTER_ADDR and
MASTER_PORT, and by itself. It needs torch alone.
"""

import argparse
import copy
import fcntl
import hashlib
import io
import json
import math
import os
import signal
import sys
import tarfile
import time
import urllib.request
import zipfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import torch
import torch.distributed as dist
import torch.distributed.nn  # else DDP imports it later, and keeps the group alive: gloo may abort
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
FOLDER = "cifar-10-batches-bin"  # in the archive
STOP_SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
BACKENDS = {"cuda": "cpu:gloo,cuda:nccl", "xpu": "cpu:gloo,xpu:xccl"}  # gloo waits for no GPU
GPU = next((kind for kind in BACKENDS if getattr(torch, kind).is_available()), "")  # xpu: Intel's
GENERATORS: list[Any] = [torch, getattr(torch, GPU)] if GPU else [torch]  # of random numbers
received_signals: list[int] = []
writer = ThreadPoolExecutor(1)  # writes snapshots while the training continues


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    add = parser.add_argument
    add("total_epochs", type=int, nargs="?", default=30, help="epochs to train (%(default)s)")
    add("save_every", type=int, nargs="?", default=5, help="epochs between saves (%(default)s)")
    add("--data", default="data", metavar="FOLDER", help="of the binary files (%(default)s)")
    add("--download", action="store_true", help="fetch the files if they are not there")
    add("--synthetic", type=int, nargs="?", const=2048, metavar="N", help="make N images (2048)")
    add("--batch-size", type=int, default=256, metavar="N", help="of each rank (%(default)s)")
    add("--lr", type=float, default=0.02, metavar="X", help="first learning rate (%(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="of all random numbers (%(default)s)")
    add("--compile", action="store_true", help="compile the model: slower to start, then faster")
    add("--snapshot", default="cifar10_vgg.pt", metavar="FILE", help="(%(default)s)")
    add("--metrics", metavar="FILE", help="gets one JSON line per epoch")
    args = parser.parse_args()
    if min(args.save_every, args.batch_size) < 1:
        parser.error("save_every and --batch-size must be 1 or more")
    return args


def print_line(text: str) -> None:
    print(f"{text}\n", end="", flush=True)  # one write, so that the lines of ranks do not mix


def join_ranks() -> torch.device:
    """Listen for signals, and start the process group. Returns the device of this rank."""
    for number in STOP_SIGNALS:
        signal.signal(number, lambda number, frame: received_signals.append(number))
    env = os.environ
    if "MASTER_ADDR" in env and "RANK" not in env and "SLURM_PROCID" in env:  # under srun
        env.update(RANK=env["SLURM_PROCID"], WORLD_SIZE=env["SLURM_NTASKS"])
    if "MASTER_ADDR" not in env or "RANK" not in env:
        if int(env.get("SLURM_STEP_NUM_TASKS", 1)) > 1:
            sys.exit("several tasks and no MASTER_ADDR, MASTER_PORT: each would train by itself")
        env.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0", RANK="0", WORLD_SIZE="1")
    env.setdefault("LOCAL_RANK", env.get("SLURM_LOCALID", "0"))
    if gpu := getattr(torch, GPU, None):  # where a task sees only its own GPU, that is number 0
        gpu.set_device(int(env["LOCAL_RANK"]) % gpu.device_count())
    dist.init_process_group(BACKENDS.get(GPU, "gloo"))
    return torch.device(GPU or "cpu")


def sum_over_ranks(value: float) -> float:
    tensor = torch.tensor(value, dtype=torch.float64)
    dist.all_reduce(tensor)
    return tensor.item()


def exit_together(problem: str) -> None:
    """End all ranks if one of them has a problem, which that rank prints."""
    if sum_over_ranks(bool(problem)):
        dist.destroy_process_group()
        sys.exit(problem or 1)


def write_snapshot(path: str, state: dict[str, Any]) -> bool:
    """Returns whether it is written. Killed at any moment, it leaves this or the last snapshot."""
    try:
        with open(f"{path}.tmp", "wb") as file:
            torch.save(state, file)
            file.flush()
            os.fsync(file.fileno())
        if os.path.exists(path):
            os.replace(path, f"{path}.previous")
        os.replace(f"{path}.tmp", path)
    except OSError as error:
        with suppress(OSError):
            os.remove(f"{path}.tmp")  # it would keep a full disk full
        print_line(f"{path} cannot be saved, and stays as it was: {error.strerror}")
        return False
    return True


def read_snapshot(path: str, settings: str) -> Any:
    """The newest undamaged snapshot, or None. ValueError if this run cannot resume from it."""
    damaged = ""
    for name in filter(os.path.exists, (path, f"{path}.previous")):
        with open(name, "rb") as file:
            content = file.read()
        try:
            if zipfile.ZipFile(io.BytesIO(content)).testzip():  # torch compares no checksums
                raise zipfile.BadZipFile
            state = torch.load(io.BytesIO(content), "cpu", weights_only=True)
            owner = state.get("of")
        except Exception as error:
            if isinstance(error, zipfile.BadZipFile) and b"PK".startswith(content[:2]):
                damaged = damaged or name
                continue
            raise ValueError(f"{name} is not a snapshot: use another --snapshot") from None
        if owner != settings:
            raise ValueError(f"{name} was saved by {owner}, not {settings}: use another --snapshot")
        if damaged:  # renamed, or the next save would keep it as the previous snapshot
            print_line(f"{damaged} is damaged: resuming from {name}")
            os.replace(damaged, f"{damaged}.damaged")
        elif name != path and not os.path.exists(f"{path}.tmp"):  # else killed while it renamed
            raise ValueError(f"{name} exists, but {path} does not: remove or rename it")
        return state
    if damaged:
        raise ValueError(f"{damaged} is damaged, and there is no other: remove it to start anew")
    return None


def load_snapshot(path: str, settings: str) -> Any:
    """The newest snapshot, on all ranks, or None. All ranks exit if this run cannot use it."""
    rank, snapshots, problem = dist.get_rank(), [None], ""
    on_another_node = sum_over_ranks(rank > 0 and os.path.exists(path))
    if rank == 0:
        try:
            snapshots = [read_snapshot(path, settings)]
            if on_another_node and not snapshots[0]:
                problem = f"{path} is only on another node: put it where all nodes see it"
        except (OSError, ValueError) as error:
            problem = str(error)
    exit_together(problem)
    dist.broadcast_object_list(snapshots)
    snapshot: Any = snapshots[0]
    if snapshot and rank < len(snapshot["random"]):
        for generator, state in zip(GENERATORS, snapshot["random"][rank], strict=False):
            generator.set_rng_state(state)
    return snapshot


def append_metrics(path: str, values: dict[str, float]) -> None:
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")
    except OSError as error:  # the training is worth more than its metrics
        print_line(f"{path}: {error.strerror}")


def show_progress(rank: int, epoch: int, fraction: float) -> None:
    if rank == 0 and sys.stderr.isatty():
        bar = f"Epoch {epoch} [{'#' * int(40 * fraction):<40}]" if fraction < 1 else ""
        print(f"\r\033[K{bar}", end="", file=sys.stderr, flush=True)


class Training:
    """One rank's part of a training. It continues from the newest snapshot."""

    def __init__(self, args: Any, device: Any, dataset: Any, settings: str, parts: Any) -> None:
        self.args, self.device, self.settings, self.parts = args, device, settings, parts
        self.rank, self.world = dist.get_rank(), dist.get_world_size()
        self.sampler: Any = DistributedSampler(dataset, seed=args.seed)
        self.steps = math.ceil(len(self.sampler) / args.batch_size)
        self.writing, self.stopped = writer.submit(bool, True), False
        position: dict[str, Any] = {"epoch": 0, "samples": 0, "loss": 0.0, "metrics": 0}
        if snapshot := load_snapshot(args.snapshot, settings):
            for name, part in parts.items():
                part.load_state_dict(snapshot[name])
            position = snapshot["at"]
        self.epoch = position["epoch"]
        self.step = position["samples"] // (args.batch_size * self.world)
        self.loss_sum = torch.tensor(position["loss"] / self.world, dtype=torch.float64).to(device)
        self.metrics = args.metrics if args.metrics and self.rank == 0 else os.devnull
        if os.path.isfile(self.metrics):  # the epochs after the snapshot will be added again
            os.truncate(self.metrics, min(position["metrics"], os.path.getsize(self.metrics)))
        if snapshot and self.rank == 0:
            print_line(f"Resuming from {args.snapshot}, epoch {self.epoch}, step {self.step}")
        self.forward: Any = DistributedDataParallel(parts["model"])

    def train(self, batch_loss: Callable[[torch.Tensor], torch.Tensor]) -> None:
        """Train until the last epoch ends or a rank receives a signal."""
        batch_size, optimizer = self.args.batch_size, self.parts["optimizer"]
        while self.epoch < self.args.total_epochs and not self.stopped:
            start = time.perf_counter()
            self.sampler.set_epoch(self.epoch)
            order = torch.tensor(list(self.sampler)[self.step * batch_size :], device=self.device)
            for indices in order.split(batch_size):
                signals = torch.tensor(len(received_signals))
                summed = dist.all_reduce(signals, async_op=True)  # so all stop at the same step
                loss = batch_loss(indices)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                self.loss_sum += loss.detach() * len(indices)
                self.step += 1
                show_progress(self.rank, self.epoch, self.step / self.steps)
                summed.wait()
                self.stopped = bool(signals)
                if self.stopped:
                    break
            self.end_epoch(start, len(order))

    def end_epoch(self, start: float, samples: int) -> None:
        """Report the epoch, unless a signal has interrupted it, and save when it is time."""
        args, lines, loss = self.args, [], sum_over_ranks(self.loss_sum.item())
        if self.step == self.steps:
            self.parts["scheduler"].step()
            sizes = f"Batchsize: {args.batch_size} | Steps: {self.steps}"
            lines = [f"[RANK {self.rank}] Epoch {self.epoch} | {sizes}"]
            if self.rank == 0:
                mean, seconds = loss / self.world / len(self.sampler), time.perf_counter() - start
                text, rates = describe_epoch(mean, self.world * samples / seconds)
                lines.append(f"Epoch {self.epoch} | {text}")
                values = {"epoch": self.epoch, "loss": mean, "seconds": seconds, **rates}
                append_metrics(self.metrics, {**values, "ranks": self.world})
            self.epoch, self.step, loss = self.epoch + 1, 0, 0.0
            self.loss_sum.zero_()
        if self.stopped or self.epoch % args.save_every == 0 or self.epoch == args.total_epochs:
            self.save(loss)
        if self.stopped:  # before it prints, which fails if the scheduler has closed stdout
            self.writing.result()
        for line in lines:
            print_line(line)

    def save(self, loss: float) -> None:
        """Start to write a copy of the state of all ranks. The training continues meanwhile."""
        samples = self.step * self.args.batch_size * self.world
        size = os.path.getsize(self.metrics) if os.path.isfile(self.metrics) else 0
        position = {"epoch": self.epoch, "samples": samples, "loss": loss, "metrics": size}
        self.writing.result()  # one snapshot at a time
        random = [None] * self.world if self.rank == 0 else None
        dist.gather_object([generator.get_rng_state() for generator in GENERATORS], random)
        if self.rank == 0:
            state = {name: part.state_dict() for name, part in self.parts.items()}
            state |= {"at": position, "of": self.settings, "random": random}
            self.writing = writer.submit(write_snapshot, self.args.snapshot, copy.deepcopy(state))

    def finish(self) -> NoReturn:
        """End this rank. The exit status is 1 if the last snapshot could not be written."""
        written = self.writing.result()
        if self.rank == 0:
            reason = "Stopped early" if self.stopped else "Done"
            print_line(f"{reason}, epoch {self.epoch}, step {self.step}: {self.args.snapshot}")
        for number in STOP_SIGNALS:
            signal.signal(number, signal.SIG_IGN)  # a late one would kill Python while it ends
        sum_over_ranks(0)  # no rank ends while another still needs it
        del self.forward  # if it were the last to hold the group, gloo could hang (pytorch#190489)
        dist.destroy_process_group()
        sys.exit(0 if written else 1)


def download(folder: str) -> None:
    """Fetch and unpack the archive, unless it is there. A second job waits for the first."""
    if os.path.isdir(f"{folder}/{FOLDER}"):
        return
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/.lock", "w") as lock, TemporaryDirectory(dir=folder) as unpacked:
        with suppress(OSError):  # without locks several jobs may fetch it, and one copy is kept
            fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(f"{folder}/{FOLDER}"):
            return
        archive = Path(unpacked, "archive")
        urllib.request.urlretrieve(URL, archive)
        if (checksum := hashlib.sha256(archive.read_bytes()).hexdigest()) != SHA256:
            raise OSError(f"{URL} has the checksum {checksum}, not {SHA256}")
        with tarfile.open(archive) as files:
            files.extractall(unpacked)
        with suppress(OSError):
            os.rename(f"{unpacked}/{FOLDER}", f"{folder}/{FOLDER}")


def synthetic_images(size: int, seed: int) -> bytes:
    """Images in CIFAR-10's format that a model can learn: a pattern per class, under noise."""
    patterns = torch.rand(10, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    patterns = nn.functional.interpolate(patterns, 32).flatten(1)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (size,), generator=generator)
    pixels = 0.5 * patterns[labels] + 0.5 * torch.rand(size, 3072, generator=generator)
    return bytes(torch.cat([labels[:, None], 255 * pixels], 1).to(torch.uint8).numpy().tobytes())


def read_images(args: argparse.Namespace, names: list[str]) -> tuple[torch.Tensor, torch.Tensor]:
    """The images (N, 3, 32, 32) of these files as bytes, and their labels (N)."""
    if args.synthetic:
        size = args.synthetic if len(names) > 1 else args.synthetic // 4
        content = synthetic_images(size, seed=len(names))
    else:
        content = b"".join(Path(args.data, FOLDER, name).read_bytes() for name in names)
    if not content or len(content) % 3073:
        raise ValueError(f"{args.data}: {len(content)} bytes are not whole images of 3073 bytes")
    table = torch.frombuffer(bytearray(content), dtype=torch.uint8).view(-1, 3073)
    return table[:, 1:].reshape(-1, 3, 32, 32), table[:, 0].long()


def load_images(args: argparse.Namespace) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The training set and the test set. All ranks exit if one of them has no data."""
    problem, sets = "", []
    try:
        if args.download and not args.synthetic and os.environ["LOCAL_RANK"] == "0":
            download(args.data)
    except (OSError, tarfile.TarError) as error:
        problem = f"rank {dist.get_rank()}: {error}"
    exit_together(problem)  # the other ranks wait here for the download
    try:
        for names in ([f"data_batch_{number}.bin" for number in range(1, 6)], ["test_batch.bin"]):
            sets.append(read_images(args, names))
    except (OSError, ValueError) as error:
        cure = "--download fetches the data, --synthetic needs none"
        problem = f"rank {dist.get_rank()}: {error}. {cure}"
    exit_together(problem)
    return sets


def vgg11() -> nn.Sequential:
    """VGG11 with batch normalization, for images of 32 x 32 (arXiv:1409.1556, A)."""
    layers: list[nn.Module] = []
    channels = 3
    for size in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
        if size == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        convolution = nn.Conv2d(channels, size, 3, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(size), nn.ReLU(inplace=True)]
        channels = size
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


def normalize(images: torch.Tensor) -> torch.Tensor:
    """Bytes as numbers around 0."""
    return ((images.float() - 120) / 64).contiguous(memory_format=torch.channels_last)


def augment(images: torch.Tensor) -> torch.Tensor:
    """Each image moved by up to 4 pixels and mirrored or not, all at once on their device."""
    size, device = len(images), images.device
    padded = nn.functional.pad(images, (4, 4, 4, 4)).permute(0, 2, 3, 1)
    rows, columns = torch.randint(9, (2, size, 1), device=device) + torch.arange(32, device=device)
    mirrored = torch.rand(size, 1, device=device) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    image = torch.arange(size, device=device)[:, None, None]
    return padded[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


@torch.no_grad()
def accuracy(model: nn.Module, images: torch.Tensor, labels: torch.Tensor) -> float:
    """The fraction of images that the model recognizes. Each rank tests its share of them."""
    model.eval()
    correct = 0
    for buffer in model.buffers():  # they differ after the last step; snapshots have rank 0's
        dist.broadcast(buffer, 0)
    for indices in torch.arange(len(labels))[dist.get_rank() :: dist.get_world_size()].split(1000):
        guesses = model(normalize(images[indices])).argmax(1)
        correct += int((guesses == labels[indices]).sum())
    return sum_over_ranks(correct) / len(labels)


def describe_epoch(loss: float, rate: float) -> tuple[str, dict[str, float]]:
    """What is printed about an epoch, and what its metrics have besides the loss."""
    rank_rate = rate / dist.get_world_size()
    text = f"Loss: {loss:.4f} | Images/s: {rate:.0f} ({rank_rate:.0f} a rank)"
    return text, {"images_per_s": rate}


def main() -> None:
    args = parse_arguments()
    device = join_ranks()
    (images, labels), (test_images, test_labels) = (
        [tensor.to(device) for tensor in tensors] for tensors in load_images(args)
    )
    torch.manual_seed(args.seed)  # the same first weights on all ranks
    model: Any = vgg11().to(device)
    model.to(memory_format=torch.channels_last)
    options = {"lr": args.lr, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": True}
    optimizer = torch.optim.SGD(model.parameters(), fused=True, **options)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(args.total_epochs, 1))
    torch.manual_seed(args.seed + 1 + dist.get_rank())  # the augmentation differs from rank to rank
    settings = f"cifar10_vgg, format 1, {args.total_epochs} epochs, {len(labels)} images"
    settings += f", --seed {args.seed} --lr {args.lr} --batch-size {args.batch_size}"
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    training = Training(args, device, labels, settings, parts)
    if args.compile:
        training.forward = torch.compile(training.forward)
    autocast = torch.autocast(device.type, torch.bfloat16, enabled=bool(GPU))

    def batch_loss(indices: torch.Tensor) -> torch.Tensor:
        with autocast:
            guesses = training.forward(normalize(augment(images[indices])))
            return nn.functional.cross_entropy(guesses, labels[indices])

    training.train(batch_loss)
    if not training.stopped:
        correct = accuracy(model, test_images, test_labels)
        if training.rank == 0:
            print_line(f"Test accuracy: {correct:.2%} of {len(test_labels)} images")
    training.finish()


if __name__ == "__main__":
    main()
