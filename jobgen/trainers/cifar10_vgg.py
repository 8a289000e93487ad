"""VGG11 on CIFAR-10 with DDP, on one device or on many nodes, that resumes exactly.

    torchrun --nproc-per-node=4 cifar10_vgg.py 30 5 --data /shared/cifar10 --download
    python3 cifar10_vgg.py 10 1 --synthetic

It saves and resumes as regression.py does. The images stay on the device, which also augments them;
on GPUs it computes in bfloat16. It runs under torchrun, under `srun python3` with MASTER_ADDR and
MASTER_PORT, and by itself. It needs torch alone.
"""

import argparse
import fcntl
import hashlib
import os
import tarfile
import urllib.request
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from jobgen.trainers.shared.joining import exit_together, join_ranks, sum_over_ranks
from jobgen.trainers.shared.rank import GPU, print_line
from jobgen.trainers.shared.training import Training

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
FOLDER = "cifar-10-batches-bin"  # in the archive
CHANNELS = 8  # three colours, and zeros: the matrix units of a GPU take eight at a time


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
    add("--compile", action="store_true", help="compile each step: slower to start, then faster")
    add("--float32", action="store_true", help="compute in float32 on GPUs, too, not in bfloat16")
    add("--snapshot", default="cifar10_vgg.pt", metavar="FILE", help="(%(default)s)")
    add("--metrics", metavar="FILE", help="gets one JSON line per epoch")
    args = parser.parse_args()
    if min(args.save_every, args.batch_size) < 1:
        parser.error("save_every and --batch-size must be 1 or more")
    return args


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
    channels = CHANNELS
    for size in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
        if size == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        convolution = nn.Conv2d(channels, size, 3, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(size), nn.ReLU(inplace=True)]
        channels = size
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


def normalize(images: torch.Tensor) -> torch.Tensor:
    """Bytes as numbers around 0, with the channels that the model takes."""
    padded = nn.functional.pad((images.float() - 120) / 64, (0, 0, 0, 0, 0, CHANNELS - 3))
    return padded.contiguous(memory_format=torch.channels_last)


def augment(images: torch.Tensor) -> torch.Tensor:
    """Each image moved by up to 4 pixels and mirrored or not, all at once on their device."""
    size, device = len(images), images.device
    padded = nn.functional.pad(images, (4, 4, 4, 4)).permute(0, 2, 3, 1)
    rows, columns = torch.randint(9, (2, size, 1), device=device) + torch.arange(32, device=device)
    mirrored = torch.rand(size, 1, device=device) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    image = torch.arange(size, device=device)[:, None, None]
    return padded[image, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


class BatchLoss(nn.Module):
    """The mean loss of a batch of uint8 images: what torch.compile takes as one graph."""

    def __init__(self, model: nn.Module, low_precision: bool) -> None:
        super().__init__()
        self.model, self.low_precision = model, low_precision

    def forward(self, images: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        with torch.autocast(images.device.type, torch.bfloat16, enabled=self.low_precision):
            guesses = self.model(normalize(augment(images)))
            return nn.functional.cross_entropy(guesses, labels)


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
    settings = f"cifar10_vgg, format 2, {args.total_epochs} epochs, {len(labels)} images"
    settings += f", --seed {args.seed} --lr {args.lr} --batch-size {args.batch_size}"
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    step: Any = BatchLoss(model, low_precision=bool(GPU) and not args.float32)
    if args.compile:  # a graph of the GPU's work for each size of a batch: one launch, not hundreds
        step = torch.compile(step, mode="reduce-overhead", dynamic=False)
    training = Training(args, device, len(labels), settings, parts, step)

    def batch_loss(indices: torch.Tensor) -> torch.Tensor:
        return training.forward(images[indices], labels[indices])  # type: ignore[no-any-return]

    training.train(batch_loss, describe_epoch)
    if not training.stopped:
        correct = accuracy(model, test_images, test_labels)
        if training.rank == 0:
            print_line(f"Test accuracy: {correct:.2%} of {len(test_labels)} images")
    training.finish()


if __name__ == "__main__":
    main()
