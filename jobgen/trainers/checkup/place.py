"""The ranks and their nodes: who is where, what all have, and waiting for all."""

import os
import socket
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

from jobgen.trainers.shared.rank import GPU, print_line


class Place(NamedTuple):
    """Where this rank is among the nodes, which are in the order of their lowest ranks."""

    hosts: list[str]
    ranks: list[list[int]]
    node: int
    local: int
    device: torch.device
    cores: list[list[int]]  # that each rank may use, of all ranks


LINES: list[str] = []  # what rank 0 has printed


def show(*lines: str) -> None:
    if dist.get_rank() == 0 and lines:
        LINES.extend(lines)
        print_line("\n".join(lines))


def gathered(value: Any) -> list[Any]:
    """The values of all ranks."""
    values = [value] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def find_place(device: torch.device) -> Place:
    own = socket.gethostname().split(".")[0], sorted(os.sched_getaffinity(0))
    names, cores = (list(each) for each in zip(*gathered(own), strict=True))
    ranks: dict[str, list[int]] = {}
    for rank, name in enumerate(names):
        ranks.setdefault(name, []).append(rank)
    rank, hosts = dist.get_rank(), list(ranks)
    node = hosts.index(names[rank])
    local = ranks[names[rank]].index(rank)
    return Place(hosts, [*ranks.values()], node, local, device, cores)


def wait_for_all() -> None:
    dist.all_reduce(torch.zeros(1))  # of the CPU, so by gloo


def synchronize() -> None:
    if GPU:
        getattr(torch, GPU).synchronize()
