"""A rank: the GPU that it takes, and the lines that it prints."""

import torch

BACKENDS = {"cuda": "nccl", "xpu": "xccl"}
GPU = next((kind for kind in BACKENDS if getattr(torch, kind).is_available()), "")  # xpu: Intel's


def print_line(text: str) -> None:
    print(f"{text}\n", end="", flush=True)  # one write, so that the lines of ranks do not mix


def choose_device(local_rank: int) -> torch.device:
    """The device of this rank, which torch uses from now on."""
    gpu = getattr(torch, GPU, None)
    if not gpu:
        return torch.device("cpu")
    number = local_rank % gpu.device_count()  # where a rank sees only its own GPU, that is 0
    gpu.set_device(number)  # before NCCL or oneCCL starts, which would choose a GPU itself
    return torch.device(GPU, number)
