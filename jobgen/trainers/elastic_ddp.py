"""One DDP step of a toy model on every rank: does the launch work, and do the ranks meet?

It runs under torchrun, under `srun python3` with MASTER_ADDR and MASTER_PORT, and by itself;
with NCCL (or RCCL) on GPUs, with oneCCL on Intel's, with gloo on CPUs. It needs torch alone.
"""

import socket

import torch
import torch.distributed as dist
import torch.distributed.nn  # else DDP imports it later, and keeps the group alive: gloo may abort
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from jobgen.trainers.shared.rank import BACKENDS, GPU, choose_device, print_line
from jobgen.trainers.shared.variables import rank_from_environment


def loss_of_one_step(rank: int, device: torch.device) -> torch.Tensor:
    """Take one step with DDP. Raises RuntimeError if the ranks then have different weights."""
    torch.manual_seed(rank)  # each rank has data of its own, as in a real training
    model = nn.Sequential(nn.Linear(10, 10), nn.ReLU(), nn.Linear(10, 5)).to(device)
    ddp = DistributedDataParallel(model, device_ids=[device] if GPU else None)
    optimizer = torch.optim.SGD(ddp.parameters(), lr=0.001)
    inputs, targets = torch.randn(20, 10, device=device), torch.randn(20, 5, device=device)
    loss = nn.functional.mse_loss(ddp(inputs), targets)
    loss.backward()
    optimizer.step()

    # The weights are the same on all ranks, unless the gradients were not averaged.
    weights = torch.cat([parameter.detach().flatten() for parameter in ddp.parameters()])
    lowest, highest = weights.clone(), weights.clone()
    dist.all_reduce(lowest, dist.ReduceOp.MIN)
    dist.all_reduce(highest, dist.ReduceOp.MAX)
    if not torch.equal(lowest, highest):
        raise RuntimeError(f"rank {rank}: the weights differ between ranks after a DDP step")
    return loss.detach()


def main() -> None:
    rank, world, local_rank = rank_from_environment()
    device = choose_device(local_rank)
    backend = BACKENDS.get(GPU, "gloo")
    dist.init_process_group(backend, rank=rank, world_size=world)
    node = socket.gethostname()
    print_line(
        f"Start running basic DDP example on rank {rank}."
        f" (node {node}, device {device}, backend {backend})"
    )
    mean_loss = loss_of_one_step(rank, device) / world
    dist.all_reduce(mean_loss)
    if rank == 0:
        print_line(
            f"All {world} ranks took one DDP step together: mean loss {mean_loss.item():.4f}."
        )
    dist.barrier(device_ids=[device.index] if GPU else None)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
