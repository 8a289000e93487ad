"""One step of DDP, after which all ranks must have the same weights."""

import torch
import torch.distributed as dist
import torch.distributed.nn  # else DDP imports it later, and keeps the group alive: gloo may abort
from torch import nn
from torch.nn.parallel import DistributedDataParallel

from jobgen.trainers.shared.rank import GPU


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
