"""A linear regression with DDP, on one device or on many nodes, that resumes exactly.

    python3 regression.py 50 10
    torchrun --nproc-per-node=4 regression.py 50 10 --batch-size 32

Every SAVE_EVERY epochs, after the last one, and when SIGTERM or SIGUSR1 says that time is up, it
saves a snapshot; started again, it goes on from there, to the same weights as without the break.
Runs under torchrun, under `srun python3` (with MASTER_ADDR and MASTER_PORT set) and by itself; with
NCCL (or RCCL) on GPUs, with gloo on CPUs. Needs torch alone.
"""

import argparse
import copy
import io
import json
import math
import os
import signal
import sys
import time
import zipfile
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import torch
import torch.distributed as dist

# DDP imports this anyway. Imported once a process group exists, its functions' default arguments
# keep the group beyond its end, and ranks on gloo abort at exit now and then.
import torch.distributed.nn
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Subset, TensorDataset
from torch.utils.data.distributed import DistributedSampler

told: list[int] = []  # signals that this rank got
beside = ThreadPoolExecutor(1)  # writes what is saved


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    add = parser.add_argument
    add("total_epochs", type=int, nargs="?", default=50, help="epochs to train (50)")
    add("save_every", type=int, nargs="?", default=10, help="epochs from save to save (10)")
    add("--batch-size", type=int, default=32, metavar="N", help="of each rank's steps (32)")
    add("--size", type=int, default=2048, metavar="N", help="samples in all (2048)")
    add("--lr", type=float, default=0.01, metavar="X", help="learning rate (0.01)")
    add("--seed", type=int, default=0, metavar="N", help="of data, order and noise (0)")
    add("--snapshot", default="regression.pt", metavar="FILE", help="(regression.pt)")
    add("--metrics", metavar="FILE", help="gets a JSON line an epoch")
    args = parser.parse_args()
    if min(args.save_every, args.batch_size, args.size) < 1:
        parser.error("save_every, --batch-size and --size have to be 1 or more")
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


def main() -> None:
    args = arguments()
    rank, world, device = start()
    torch.manual_seed(args.seed)  # the same data and first weights everywhere
    inputs = torch.randn(args.size, 20)
    data = TensorDataset(inputs, inputs @ torch.randn(20, 1) + 0.1 * torch.randn(args.size, 1))
    model = nn.Linear(20, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)
    parts: dict[str, Any] = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    torch.manual_seed(args.seed + 1 + rank)  # what follows is each rank's own
    run = f"regression, format 1, --seed {args.seed} --size {args.size} --lr {args.lr}"
    run += f" --batch-size {args.batch_size}"
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
    sampler: Any = DistributedSampler(data, world, rank, seed=args.seed)
    steps = math.ceil(len(sampler) / args.batch_size)
    total = torch.tensor(at["loss"] / world, dtype=torch.float64, device=device)
    saving, ended = beside.submit(bool, True), False
    while epoch < args.total_epochs and not ended:
        began, lines = time.perf_counter(), []
        sampler.set_epoch(epoch)
        left = Subset(data, list(sampler)[step * args.batch_size :])
        # A generator of its own: the loader would draw from the rank's, and once more on resuming.
        for inputs, targets in DataLoader(left, args.batch_size, generator=torch.Generator()):
            signals = torch.tensor(len(told))  # of all ranks, so that all end at the same step
            asked = dist.all_reduce(signals, async_op=True)
            noisy = (inputs + 0.01 * torch.randn_like(inputs)).to(device)
            loss = nn.functional.mse_loss(ddp(noisy), targets.to(device))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach() * len(targets)
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
                lines.append(f"Epoch {epoch} | Loss: {mean:.6f}")
                values = {"epoch": epoch, "loss": mean, "seconds": seconds, "ranks": world}
                if metrics:
                    note(metrics, values)
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
    good = saving.result()
    if rank == 0:
        say(f"{'Told to end' if ended else 'Done'}, epoch {epoch}, step {step}: {args.snapshot}")
    for number in (signal.SIGTERM, signal.SIGUSR1):  # a late one would kill Python while it ends
        signal.signal(number, signal.SIG_IGN)
    everyone(0)  # none leaves before the others are through
    del ddp  # were it the last to hold the group, gloo could hang in the end (pytorch#190489)
    dist.destroy_process_group()
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
