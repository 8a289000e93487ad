"""One DDP step of a toy model on every rank: does the launch work, and do the ranks meet?

It runs under torchrun, under `srun python3` with MASTER_ADDR and MASTER_PORT, and by itself;
with NCCL (or RCCL) on GPUs, with oneCCL on Intel's, with gloo on CPUs. It needs torch alone.
"""

import socket

import torch.distributed as dist

from jobgen.trainers.shared.one_step import loss_of_one_step
from jobgen.trainers.shared.rank import BACKENDS, GPU, choose_device, print_line
from jobgen.trainers.shared.variables import rank_from_environment


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
