"""One DDP step of a toy model on every rank: does the launch work, and do the ranks meet?

Runs under torchrun, under `srun python` (with MASTER_ADDR and MASTER_PORT set) and by itself;
with NCCL (or RCCL) on GPUs, with gloo on CPUs. Needs torch alone.
"""

import os
import socket
import sys

import torch
import torch.distributed as dist

# DDP imports this anyway. Imported once a process group exists, its functions' default arguments
# keep the group beyond its end, and ranks on gloo abort at exit now and then.
import torch.distributed.nn
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def say(text: str) -> None:
    # One write a line, so that the lines of many ranks do not run into each other.
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def place() -> tuple[int, int, int]:
    """This process's rank, the number of ranks, and its rank on this node."""
    for names in (
        ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
        ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    ):
        # A batch script has SLURM_PROCID=0 too: only with a MASTER_ADDR is this one of many.
        if "MASTER_ADDR" in os.environ and names[0] in os.environ:
            rank, world, local = (int(os.environ[name]) for name in names)
            return rank, world, local
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")  # alone, on any free port
    return 0, 1, 0


def one_step(rank: int, world: int, device: torch.device) -> None:
    torch.manual_seed(rank)  # every rank has data of its own, as in a real training
    model = nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5)).to(device)
    ddp = DistributedDataParallel(model, device_ids=[device] if device.type == "cuda" else None)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.001)
    inputs, targets = torch.randn(20, 10, device=device), torch.randn(20, 5, device=device)
    loss = nn.functional.mse_loss(ddp(inputs), targets)
    loss.backward()
    optimizer.step()

    # After a step the weights are the same everywhere, or the gradients were not averaged.
    weights = torch.cat([p.detach().flatten() for p in ddp.parameters()])
    low, high = weights.clone(), weights.clone()
    dist.all_reduce(low, dist.ReduceOp.MIN)
    dist.all_reduce(high, dist.ReduceOp.MAX)
    if not torch.equal(low, high):
        raise RuntimeError(f"rank {rank}: the weights differ between ranks after a DDP step")
    mean = loss.detach() / world
    dist.all_reduce(mean)
    if rank == 0:
        say(f"All {world} ranks took one DDP step together: mean loss {mean.item():.4f}.")


def main() -> None:
    rank, world, local = place()
    cuda = torch.cuda.is_available()
    device = torch.device("cuda", local) if cuda else torch.device("cpu")
    backend = "nccl" if cuda else "gloo"
    if cuda:
        torch.cuda.set_device(device)  # before NCCL is, which else guesses a GPU
    dist.init_process_group(backend, rank=rank, world_size=world)
    say(
        f"Start running basic DDP example on rank {rank}."
        f" (node {socket.gethostname()}, device {device}, backend {backend})"
    )
    one_step(rank, world, device)
    dist.barrier(device_ids=[local] if cuda else None)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
