"""VGG11 on CIFAR-10 with DDP, on one device or on many nodes, that resumes exactly.

    torchrun --nproc-per-node=4 cifar10_vgg.py 30 5 --data /shared/cifar10 --download
    python3 cifar10_vgg.py 10 1 --synthetic

Saves and resumes as regression.py does. The images stay on the device, and are augmented there; on
GPUs it computes in bfloat16. Runs under torchrun, under `srun python3` (with MASTER_ADDR and
MASTER_PORT set) and by itself; with NCCL (or RCCL) on GPUs, with gloo on CPUs. Needs torch alone.
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
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import torch
import torch.distributed as dist

# DDP imports this anyway. Imported once a process group exists, its functions' default arguments
# keep the group beyond its end, and ranks on gloo abort at exit now and then.
import torch.distributed.nn
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data.distributed import DistributedSampler

URL = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"
SHA256 = "c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd"
FOLDER = "cifar-10-batches-bin"  # in the archive
told: list[int] = []  # signals that this rank got
beside = ThreadPoolExecutor(1)  # writes what is saved


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    add = parser.add_argument
    add("total_epochs", type=int, nargs="?", default=30, help="epochs to train (30)")
    add("save_every", type=int, nargs="?", default=5, help="epochs from save to save (5)")
    add("--data", default="data", metavar="FOLDER", help="CIFAR-10's binary files (data)")
    add("--download", action="store_true", help="fetch them if they are not there")
    add("--synthetic", type=int, nargs="?", const=2048, metavar="N", help="N made-up images (2048)")
    add("--batch-size", type=int, default=256, metavar="N", help="of each rank's steps (256)")
    add("--lr", type=float, default=0.02, metavar="X", help="learning rate at first (0.02)")
    add("--seed", type=int, default=0, metavar="N", help="of weights, order and changes (0)")
    add("--compile", action="store_true", help="compile the model: slower to start, then faster")
    add("--snapshot", default="cifar10_vgg.pt", metavar="FILE", help="(cifar10_vgg.pt)")
    add("--metrics", metavar="FILE", help="gets a JSON line an epoch")
    args = parser.parse_args()
    if min(args.save_every, args.batch_size) < 1:
        parser.error("save_every and --batch-size have to be 1 or more")
    return args


def say(text: str) -> None:
    print(f"{text}\n", end="", flush=True)  # in one write, or the ranks' lines would mix


def start() -> tuple[int, int, torch.device]:
    """Join the other ranks: this one's rank, how many there are, its device."""
    for number in (signal.SIGTERM, signal.SIGUSR1):
        signal.signal(number, lambda number, _: told.append(number))
    torchrun, slurm = ("RANK", "WORLD_SIZE"), ("SLURM_PROCID", "SLURM_NTASKS")
    names = torchrun if "RANK" in os.environ else slurm
    rank, world = 0, 1
    if "MASTER_ADDR" in os.environ and names[0] in os.environ:
        rank, world = (int(os.environ[name]) for name in names)
    elif int(os.environ.get("SLURM_STEP_NUM_TASKS", 1)) > 1:
        sys.exit("several tasks and no MASTER_ADDR, MASTER_PORT: each would train by itself")
    else:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")  # alone, on any free port
    if cuda := torch.cuda.is_available():
        # One GPU a task is what some schedulers show: it is number 0 to each of them.
        torch.cuda.set_device(local_rank() % torch.cuda.device_count())
    # gloo beside NCCL: what the ranks agree on stays on the CPU, and waits for no GPU.
    dist.init_process_group("cpu:gloo,cuda:nccl" if cuda else "gloo", rank=rank, world_size=world)
    return rank, world, torch.device("cuda" if cuda else "cpu")


def local_rank() -> int:
    return int(os.environ.get("LOCAL_RANK", os.environ.get("SLURM_LOCALID", 0)))


def everyone(value: float) -> float:
    """The sum of all ranks' values, on all of them."""
    tensor = torch.tensor(value, dtype=torch.float64)
    dist.all_reduce(tensor)
    return tensor.item()


def save(path: str, rank: int, world: int, state: dict[str, Any]) -> "Future[bool]":
    """Have rank 0 write a snapshot of all ranks while they go on; whether it could be written."""
    cuda = [torch.cuda.get_rng_state()] if torch.cuda.is_available() else []
    random = [None] * world if rank == 0 else None
    dist.gather_object([torch.get_rng_state(), *cuda], random)
    if rank:
        return beside.submit(bool, True)
    return beside.submit(write, path, copy.deepcopy({**state, "random": random}))


def write(path: str, state: dict[str, Any]) -> bool:
    """Whenever this is killed, a whole snapshot is left: this one or the last."""
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
            os.remove(f"{path}.tmp")  # or a full disk stays full
        say(f"{path} cannot be saved, and stays as it was: {error.strerror}")
        return False
    return True


def read(path: str, run: str) -> dict[str, Any] | None:
    """The newest whole snapshot, if there is any. ValueError if this run may not go on from it."""
    damaged = ""
    for name in filter(os.path.exists, (path, f"{path}.previous")):
        with open(name, "rb") as file:
            data = file.read()
        try:
            if zipfile.ZipFile(io.BytesIO(data)).testzip():  # torch itself looks at no checksum
                raise zipfile.BadZipFile
            state: dict[str, Any] = torch.load(io.BytesIO(data), "cpu", weights_only=True)
            of = state.get("of")
        except Exception as error:
            if isinstance(error, zipfile.BadZipFile) and b"PK".startswith(data[:2]):
                damaged = damaged or name
                continue
            raise ValueError(f"{name} is no snapshot: choose another --snapshot") from None
        if of != run:
            raise ValueError(f"{name} is of {of}; this is {run}: choose another --snapshot")
        if damaged:  # out of the way, or the next save would keep it as the previous one
            say(f"{damaged} is damaged: going on from {name}")
            os.replace(damaged, f"{damaged}.damaged")
        elif name != path and not os.path.exists(f"{path}.tmp"):  # else killed between two names
            raise ValueError(f"{name} is there without {path}: remove or rename it")
        return state
    if damaged:
        raise ValueError(f"{damaged} is damaged, and there is no other: remove it to begin anew")
    return None


def resume(path: str, rank: int, run: str) -> Any:
    """What was saved last, on all ranks; None if nothing was. All exit if it does not fit."""
    found: list[Any] = [None, None]
    elsewhere = everyone(rank > 0 and os.path.exists(path))
    if rank == 0:
        try:
            found[0] = read(path, run)
            if elsewhere and not found[0]:
                raise ValueError(f"{path} is on another node alone: put it where all nodes see it")
        except (OSError, ValueError) as error:
            found[1] = str(error)
    dist.broadcast_object_list(found)
    if found[1]:
        dist.destroy_process_group()
        sys.exit(found[1] if rank == 0 else 1)
    if found[0] and rank < len(found[0]["random"]):
        cpu, *cuda = found[0]["random"][rank]
        torch.set_rng_state(cpu)
        if cuda:
            torch.cuda.set_rng_state(cuda[0])
    return found[0]


def note(path: str, values: dict[str, float]) -> None:
    """Add a JSON line to the metrics; without room for it the training goes on all the same."""
    try:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(values) + "\n")
    except OSError as error:
        say(f"{path}: {error.strerror}")


def show(rank: int, epoch: int, part: float) -> None:
    """A progress bar, on rank 0's terminal."""
    if rank == 0 and sys.stderr.isatty():
        bar = f"Epoch {epoch} [{'#' * int(40 * part):<40}]" if part < 1 else ""
        print(f"\r\033[K{bar}", end="", file=sys.stderr, flush=True)


def download(folder: str) -> None:
    """Fetch the archive unless it is there. Whoever comes second waits for the first one's lock."""
    if os.path.isdir(f"{folder}/{FOLDER}"):
        return
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/.lock", "w") as lock, TemporaryDirectory(dir=folder) as made:
        with suppress(OSError):  # without locks several may fetch it, and one of them is kept
            fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.isdir(f"{folder}/{FOLDER}"):
            return
        urllib.request.urlretrieve(URL, f"{made}/archive")
        with open(f"{made}/archive", "rb") as file:
            if (found := hashlib.sha256(file.read()).hexdigest()) != SHA256:
                raise OSError(f"{URL} has the checksum {found}, not {SHA256}")
        with tarfile.open(f"{made}/archive") as archive:
            archive.extractall(made)
        with suppress(OSError):
            os.rename(f"{made}/{FOLDER}", f"{folder}/{FOLDER}")


def synthetic(size: int, seed: int) -> bytes:
    """Images in CIFAR-10's format that can be learned: each a class's pattern under noise."""
    patterns = torch.rand(10, 3, 4, 4, generator=torch.Generator().manual_seed(0))
    patterns = nn.functional.interpolate(patterns, 32).flatten(1)
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(10, (size,), generator=generator)
    pixels = 0.5 * patterns[labels] + 0.5 * torch.rand(size, 3072, generator=generator)
    return bytes(torch.cat([labels[:, None], 255 * pixels], 1).to(torch.uint8).numpy().tobytes())


def images(args: argparse.Namespace, rank: int) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Images (N, 3, 32, 32) as bytes with labels (N): for training, for the test. All may exit."""
    found, wrong = [], ""
    try:
        if args.download and not args.synthetic and local_rank() == 0:
            download(args.data)
    except (OSError, tarfile.TarError) as error:
        wrong = f"rank {rank}: {error}"
    everyone(0)  # the others wait for the download
    try:
        for names in ([f"data_batch_{n}" for n in range(1, 6)], ["test_batch"]):
            if args.synthetic:
                raw = synthetic(
                    args.synthetic if len(names) > 1 else args.synthetic // 4, len(names)
                )
            else:
                files = [Path(args.data, FOLDER, f"{name}.bin") for name in names]
                raw = b"".join(file.read_bytes() for file in files)
            if not raw or len(raw) % 3073:
                raise ValueError(f"{args.data}: {len(raw)} bytes are no whole images of 3073 bytes")
            table = torch.frombuffer(bytearray(raw), dtype=torch.uint8).view(-1, 3073)
            found.append((table[:, 1:].reshape(-1, 3, 32, 32), table[:, 0].long()))
    except (OSError, ValueError) as error:
        cure = "--download fetches the data, --synthetic needs none"
        wrong = wrong or f"rank {rank}: {error}. {cure}"
    if everyone(bool(wrong)):
        dist.destroy_process_group()
        sys.exit(wrong or 1)
    return found


def vgg11() -> nn.Sequential:
    """VGG11 with batch normalization, for images of 32 x 32 (configuration A of 1409.1556)."""
    layers: list[nn.Module] = []
    before = 3
    for size in (64, 0, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0):
        if size == 0:
            layers.append(nn.MaxPool2d(2))
            continue
        convolution = nn.Conv2d(before, size, 3, padding=1, bias=False)
        layers += [convolution, nn.BatchNorm2d(size), nn.ReLU(inplace=True)]
        before = size
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(512, 10))


def scaled(batch: torch.Tensor) -> torch.Tensor:
    """Bytes as numbers around 0."""
    return ((batch.float() - 120) / 64).contiguous(memory_format=torch.channels_last)


def changed(batch: torch.Tensor) -> torch.Tensor:
    """Each image moved by up to 4 pixels, and mirrored or not, all at once on their device."""
    size, device = len(batch), batch.device
    padded = nn.functional.pad(batch, (4, 4, 4, 4))
    down, right = torch.randint(9, (2, size, 1), device=device) + torch.arange(32, device=device)
    mirrored = torch.rand(size, 1, device=device) < 0.5
    right = torch.where(mirrored, right.flip(1), right)
    number = torch.arange(size, device=device)[:, None, None]
    return padded.permute(0, 2, 3, 1)[number, down[:, :, None], right[:, None, :]].permute(
        0, 3, 1, 2
    )


@torch.no_grad()
def correct(model: nn.Module, test: Any, rank: int, world: int, device: torch.device) -> float:
    """How many of this rank's share of the test's images are recognized."""
    model.eval()
    right = 0
    for buffer in model.buffers():  # each rank's own after the last step; rank 0's are saved
        dist.broadcast(buffer, 0)
    for index in torch.arange(len(test[1]))[rank::world].split(1000):
        guess = model(scaled(test[0][index].to(device))).argmax(1)
        right += int((guess == test[1][index].to(device)).sum())
    return right


def main() -> None:
    args = arguments()
    rank, world, device = start()
    (train, labels), test = images(args, rank)
    train, labels = train.to(device), labels.to(device)
    torch.manual_seed(args.seed)  # the same first weights everywhere
    model: Any = vgg11().to(device)
    model.to(memory_format=torch.channels_last)
    settings = {"lr": args.lr, "momentum": 0.9, "weight_decay": 5e-4, "nesterov": True}
    optimizer = torch.optim.SGD(model.parameters(), fused=True, **settings)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(args.total_epochs, 1))
    parts: dict[str, Any] = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    torch.manual_seed(args.seed + 1 + rank)  # what follows is each rank's own
    run = f"cifar10_vgg, format 1, {args.total_epochs} epochs, {len(labels)} images"
    run += f", --seed {args.seed} --lr {args.lr} --batch-size {args.batch_size}"
    at: dict[str, Any] = {"epoch": 0, "samples": 0, "loss": 0.0, "metrics": 0}
    if saved := resume(args.snapshot, rank, run):
        for name, part in parts.items():
            part.load_state_dict(saved[name])
        at = saved["at"]
    epoch, step = at["epoch"], at["samples"] // (args.batch_size * world)
    metrics = args.metrics if rank == 0 else None
    if metrics and os.path.exists(metrics):  # what came after the snapshot comes again
        os.truncate(metrics, min(at["metrics"], os.path.getsize(metrics)))
    if saved and rank == 0:
        say(f"Going on from {args.snapshot}, epoch {epoch}, step {step}")

    ddp = DistributedDataParallel(model)
    forward = torch.compile(ddp) if args.compile else ddp
    half = torch.autocast(device.type, torch.bfloat16, enabled=device.type == "cuda")
    numbers: Any = range(len(labels))
    sampler: Any = DistributedSampler(numbers, world, rank, seed=args.seed)
    steps = math.ceil(len(sampler) / args.batch_size)
    total = torch.tensor(at["loss"] / world, dtype=torch.float64, device=device)
    saving, ended = beside.submit(bool, True), False
    while epoch < args.total_epochs and not ended:
        began, first, lines = time.perf_counter(), step, []
        sampler.set_epoch(epoch)
        order = torch.tensor(list(sampler)[step * args.batch_size :], device=device)
        for index in order.split(args.batch_size):
            signals = torch.tensor(len(told))  # of all ranks, so that all end at the same step
            asked = dist.all_reduce(signals, async_op=True)
            with half:
                guess = forward(scaled(changed(train[index])))
                loss = nn.functional.cross_entropy(guess, labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(index)
            step += 1
            show(rank, epoch, step / steps)
            asked.wait()
            if ended := bool(signals):
                break
        summed = everyone(total.item())
        if step == steps:
            scheduler.step()
            lines = [f"[RANK {rank}] Epoch {epoch} | Batchsize: {args.batch_size} | Steps: {steps}"]
            if rank == 0:
                mean, seconds = summed / world / len(sampler), time.perf_counter() - began
                rate = world * (len(sampler) - first * args.batch_size) / seconds
                each = f"{rate:.0f} ({rate / world:.0f} a rank)"
                lines.append(f"Epoch {epoch} | Loss: {mean:.4f} | Images/s: {each}")
                values = {"epoch": epoch, "loss": mean, "seconds": seconds, "images_per_s": rate}
                if metrics:
                    note(metrics, {**values, "ranks": world})
            epoch, step, summed = epoch + 1, 0, 0.0
            total.zero_()
        if ended or epoch % args.save_every == 0 or epoch == args.total_epochs:
            state = {name: part.state_dict() for name, part in parts.items()}
            at = {"epoch": epoch, "samples": step * args.batch_size * world, "loss": summed}
            at["metrics"] = os.path.getsize(metrics) if metrics and os.path.exists(metrics) else 0
            saving.result()  # one at a time
            saving = save(args.snapshot, rank, world, {**state, "at": at, "of": run})
        if ended:  # before a word is printed: a scheduler may have closed stdout
            saving.result()
        for line in lines:
            say(line)
    right = 0.0 if ended else everyone(correct(model, test, rank, world, device))
    good = saving.result()
    if rank == 0:
        if not ended:
            say(f"Test accuracy: {right / len(test[1]):.2%} of {len(test[1])} images")
        say(f"{'Told to end' if ended else 'Done'}, epoch {epoch}, step {step}: {args.snapshot}")
    for number in (signal.SIGTERM, signal.SIGUSR1):  # a late one would kill Python while it ends
        signal.signal(number, signal.SIG_IGN)
    everyone(0)  # none leaves before the others are through
    del ddp, forward  # were they the last to hold the group, gloo could hang (pytorch#190489)
    dist.destroy_process_group()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
