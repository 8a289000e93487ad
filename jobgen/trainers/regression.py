"""A linear regression with DDP, on one device or on many nodes, that resumes exactly.

    torchrun --nproc-per-node=4 regression.py 50 10 --batch-size 32

It saves a snapshot every SAVE_EVERY epochs, at the end, and when a rank gets SIGTERM or SIGUSR1.
Started again, it resumes, and ends with the same weights as a run without the interruption. It runs
under torchrun, under `srun python3` with MASTER_ADDR and MASTER_PORT, and by itself.
"""

import argparse

import torch
import torch.distributed as dist
from torch import nn

from jobgen.trainers.shared.joining import join_ranks
from jobgen.trainers.shared.training import Training


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    add = parser.add_argument
    add("total_epochs", type=int, nargs="?", default=50, help="epochs to train (%(default)s)")
    add("save_every", type=int, nargs="?", default=10, help="epochs between saves (%(default)s)")
    add("--batch-size", type=int, default=32, metavar="N", help="of each rank (%(default)s)")
    add("--size", type=int, default=2048, metavar="N", help="number of samples (%(default)s)")
    add("--lr", type=float, default=0.01, metavar="X", help="learning rate (%(default)s)")
    add("--seed", type=int, default=0, metavar="N", help="of data, order and noise (%(default)s)")
    add("--snapshot", default="regression.pt", metavar="FILE", help="(%(default)s)")
    add("--metrics", metavar="FILE", help="gets one JSON line per epoch")
    args = parser.parse_args()
    if min(args.save_every, args.batch_size, args.size) < 1:
        parser.error("save_every, --batch-size and --size must be 1 or more")
    return args


def describe_epoch(loss: float, rate: float) -> tuple[str, dict[str, float]]:
    """What is printed about an epoch, and what its metrics have besides the loss."""
    return f"Loss: {loss:.6f}", {}


def main() -> None:
    args = parse_arguments()
    device = join_ranks()
    torch.manual_seed(args.seed)  # the same data and first weights on all ranks
    inputs = torch.randn(args.size, 20)
    targets = inputs @ torch.randn(20, 1) + 0.1 * torch.randn(args.size, 1)
    inputs, targets = inputs.to(device), targets.to(device)
    model = nn.Linear(20, 1).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10, gamma=0.5)
    torch.manual_seed(args.seed + 1 + dist.get_rank())  # the noise differs from rank to rank
    settings = f"regression, format 1, --seed {args.seed} --size {args.size} --lr {args.lr}"
    settings += f" --batch-size {args.batch_size}"
    parts = {"model": model, "optimizer": optimizer, "scheduler": scheduler}
    training = Training(args, device, len(inputs), settings, parts)

    def batch_loss(indices: torch.Tensor) -> torch.Tensor:
        noise = 0.01 * torch.randn(len(indices), 20).to(device)
        return nn.functional.mse_loss(training.forward(inputs[indices] + noise), targets[indices])

    training.train(batch_loss, describe_epoch)
    training.finish()


if __name__ == "__main__":
    main()
