"""Each pair of nodes: bandwidth and latency."""

import math
import time
from statistics import median

import torch
import torch.distributed as dist

from jobgen.trainers.checkup.place import Place, synchronize, wait_for_all
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
