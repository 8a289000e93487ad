"""Exchanges of data: by each pair of nodes, and all-reduces of all sizes."""

import argparse
import math
import time
from statistics import median
from typing import Any

import torch
import torch.distributed as dist

from jobgen.trainers.checkup.judging import short
from jobgen.trainers.checkup.place import Place, show, synchronize, wait_for_all
from jobgen.trainers.shared.rank import GPU


def rounds_of_pairs(count: int) -> list[list[tuple[int, int]]]:
    """Each pair once, and no node twice in a round: the circle method."""
    seats = list(range(count + count % 2))
    half, rounds = len(seats) // 2, []
    for _ in range(len(seats) - 1):
        pairs = zip(seats[:half], reversed(seats[half:]), strict=True)
        rounds.append([pair for pair in pairs if max(pair) < count])
        seats.insert(1, seats.pop())
    return rounds


def exchange(peer: int, values: torch.Tensor, received: torch.Tensor) -> float:
    """The seconds of it. NCCL uses the communicator of all ranks, so makes none for a pair."""
    start_time = time.perf_counter()
    operations = [dist.P2POp(dist.isend, values, peer), dist.P2POp(dist.irecv, received, peer)]
    for work in dist.batch_isend_irecv(operations):
        work.wait()
    synchronize()
    return time.perf_counter() - start_time


def measure_pair(peer: int, device: torch.device) -> tuple[float, float]:
    """GB/s each way, and microseconds of latency. It takes about a second, however slow."""
    ones = torch.ones(256 << 20 if GPU else 32 << 20, dtype=torch.uint8, device=device)
    received = torch.empty_like(ones)
    latency = sorted(exchange(peer, ones[:4], received[:4]) for _ in range(20))[5]
    size, seconds = 1 << 10, 0.0
    while seconds < 0.02 and size < len(ones):
        size *= 8
        own = torch.tensor([exchange(peer, ones[:size], received[:size])], device=device)
        other = torch.empty_like(own)
        exchange(peer, own, other)
        seconds = max(float(own), float(other))  # so that both choose the same size
    usual = median(exchange(peer, ones[:size], received[:size]) for _ in range(5))
    return size / usual / 1e9, latency * 1e6


def measure_pairs(place: Place, notes: list[str]) -> torch.Tensor:
    """Bandwidth and latency of each pair of nodes; not a number where it failed or is none."""
    nodes, width = len(place.hosts), min(map(len, place.ranks))
    table = torch.zeros(2, nodes, nodes, dtype=torch.float64)
    for pairs in rounds_of_pairs(nodes):
        wait_for_all()
        partner = next((sum(pair) - place.node for pair in pairs if place.node in pair), None)
        if partner is None or place.local >= width:
            continue
        try:
            speeds = measure_pair(place.ranks[partner][place.local], place.device)
        except RuntimeError as failure:
            speeds = math.nan, math.nan
            notes.append(f"no exchange with {place.hosts[partner]}: {str(failure).splitlines()[0]}")
        table[0, place.node, partner] = speeds[0]
        table[1, place.node, partner] = speeds[1] if place.local == 0 else 0.0
    dist.all_reduce(table)  # the sums over the local ranks
    table = (table + table.transpose(1, 2)) / 2  # both have measured it
    table[:, range(nodes), range(nodes)] = math.nan
    return table


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
