"""Ranks that join, end together, and listen for the signals that stop a training."""

import os
import signal
import sys

import torch
import torch.distributed as dist

from jobgen.trainers.shared.backends import WITH_GLOO
from jobgen.trainers.shared.rank import GPU, choose_device

STOP_SIGNALS = (signal.SIGTERM, signal.SIGUSR1)
received_signals: list[int] = []
last_sum: list[torch.Tensor] = []


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
    choose_device(int(env["LOCAL_RANK"]))
    dist.init_process_group(WITH_GLOO)
    return torch.device(GPU or "cpu")


def sum_over_ranks(value: float) -> float:
    tensor = torch.tensor(value, dtype=torch.float64)
    dist.all_reduce(tensor)
    last_sum[:] = [tensor]  # if gloo's thread were the last to hold it, the end could hang, too
    return tensor.item()


def exit_together(problem: str) -> None:
    """End all ranks if one of them has a problem, which that rank prints."""
    if sum_over_ranks(bool(problem)):
        dist.destroy_process_group()
        sys.exit(problem or 1)
