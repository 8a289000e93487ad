"""All-reduces of all sizes: time, bandwidth, and whether the sums are right."""

import argparse
import time
from typing import Any

import torch
import torch.distributed as dist

from jobgen.trainers.checkup.measures import short
from jobgen.trainers.checkup.place import Place, show, synchronize
from jobgen.trainers.shared.rank import GPU


def measure_size(count: int, repeat: int, group: Any = None) -> tuple[float, int]:
    """Seconds of one all-reduce of `count` floats, and how many of its sums are wrong."""
    rank, world = dist.get_rank(group), dist.get_world_size(group)
    device = GPU or "cpu"
    # Whole numbers, whose sums float32 holds exactly for up to 60,000 ranks.
    base = torch.arange(count, device=device, dtype=torch.float32).remainder(251)
    values = base + rank % 8
    sums = values.clone()
    synchronize()
    first = time.perf_counter()
    dist.all_reduce(sums, group=group)  # it sets up the connections
    wrong = int((sums != world * base + sum(other % 8 for other in range(world))).sum())
    first_seconds, wrong_sums = slowest_rank(time.perf_counter() - first, wrong)
    repeat = max(1, min(repeat, int(2 / first_seconds)))  # a slow network takes no minutes
    start_time = time.perf_counter()
    for _ in range(repeat):
        dist.all_reduce(values, group=group)
    synchronize()
    seconds = (time.perf_counter() - start_time) / repeat
    return slowest_rank(seconds, 0)[0], int(wrong_sums)


def slowest_rank(*values: float) -> list[float]:
    """The largest of all ranks, also where groups measure."""
    worst = torch.tensor(values, dtype=torch.float64)
    dist.all_reduce(worst, dist.ReduceOp.MAX)
    return worst.tolist()


def measure_all_sizes(
    args: argparse.Namespace, group: Any = None
) -> tuple[list[list[float]], bool]:
    """Print a row for each size. Returns bytes, seconds, GB/s; and whether all sums are right."""
    world = dist.get_world_size(group)
    show(f"{'bytes':>12} {'time':>12} {'algorithm':>14} {'bus':>14} {'wrong':>6}")
    rows, right, size = [], True, max(args.smallest, 4)
    seconds = 0.0
    while size <= args.largest and seconds < 0.5:
        seconds, wrong = measure_size(size // 4, args.repeat, group)
        rate = size / seconds / 1e9
        bus_rate = rate * 2 * (world - 1) / world  # of each link, as nccl-tests defines it
        rates = f"{rate:>9.3f} GB/s {bus_rate:>9.3f} GB/s"
        show(f"{size:>12} {seconds * 1e6:>9.1f} us {rates} {wrong:>6}")
        rows.append([size, short(seconds), short(bus_rate)])
        right = right and wrong == 0
        size *= 4
    return rows, right


def measure_all_reduces(
    args: argparse.Namespace, place: Place
) -> tuple[dict[str, list[list[float]]], bool]:
    """The rows of all ranks and within the nodes; and whether all sums are right."""
    nodes, width = len(place.hosts), min(map(len, place.ranks))
    rows, right = measure_all_sizes(args)
    if nodes == 1 or width == 1:
        return {"all": rows, "node": rows if width > 1 else []}, right
    show("within a node, of the slowest:")
    group = dist.new_group(place.ranks[place.node], use_local_synchronization=True)
    within, right_within = measure_all_sizes(args, group)
    return {"all": rows, "node": within}, right and right_within
