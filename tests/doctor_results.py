"""Results of `jobgen doctor` as its JSON has them, for any number of nodes: the same each time.

One node has a slow network, another slow memory, and one pair of good nodes is slow.
"""

from __future__ import annotations

from random import Random
from typing import Any

MEASURES = {
    "compute": ("matrix product, bf16", "TFLOP/s", True, 0.1, 141.0, 0.01),
    "memory": ("memory bandwidth", "GB/s", True, 0.1, 1310.0, 0.005),
    "to_device": ("host to device", "GB/s", True, 0.15, 24.6, 0.01),
    "between_devices": ("device to device", "GB/s", True, 0.15, 71.0, 0.01),
    "shared_memory": ("/dev/shm, write", "GB/s", True, 0.3, 3.1, 0.03),
    "local_disk": ("local disk, write", "GB/s", True, 0.5, 1.9, 0.08),
    "small_files": ("small files, shared file system", "ms", False, 1.0, 2.4, 0.1),
    "network": ("network, best pair", "GB/s", True, 0.15, 23.4, 0.01),
    "latency": ("latency, best pair", "us", False, 0.3, 3.2, 0.02),
}
Pairs = list[list[float | None]]


def nodes_of(count: int) -> list[str]:
    """Names as racks have them."""
    return [f"smc-r{7 + i // 18:02}-{i % 18 + 1:02}" for i in range(count)]


def example_results(count: int, seed: int = 1, with_faults: bool = True) -> dict[str, Any]:
    """Results of `count` nodes; with two nodes only the pair is slow, with one none is."""
    random, names = Random(seed), nodes_of(count)
    has_slow_node = with_faults and count > 3
    slow, weak, pair = count // 2, count - 2, (int(count > 2), count - 1)
    bandwidth = _pairs(random, count, 23.4, 0.015)
    latency = _pairs(random, count, 3.2, 0.03)
    if has_slow_node:
        for other in set(range(count)) - {slow}:
            _set(bandwidth, slow, other, _noisy(random, 9.4, 0.02))
            _set(latency, slow, other, _noisy(random, 4.1, 0.05))
    if with_faults and count > 1:
        _set(bandwidth, *pair, 4.2)
        _set(latency, *pair, 14.0)
    nodes = [_node(random, name, i) for i, name in enumerate(names)]
    for values in (bandwidth, latency) if count > 1 else ():
        best, key = (max, "network") if values is bandwidth else (min, "latency")
        for i, node in enumerate(nodes):
            node["values"][key] = best(value for value in values[i] if value is not None)
    if has_slow_node:
        nodes[weak]["values"]["memory"] = nodes[weak]["ranks"]["memory"][3] = 702.0
        nodes[weak]["notes"].append("GPU 3 throttles: power brake")
        del nodes[0]["values"]["local_disk"]
    found = _findings(names, slow, weak, pair, has_slow_node, with_faults and count > 1)
    return {
        **_job(),
        "measures": {name: _measure(row) for name, row in MEASURES.items()},
        "nodes": nodes,
        "pairs": {"bandwidth": bandwidth, "latency": latency},
        "allreduce": {"all": _curve(21.8, 4e-5 * count**0.5), "node": _curve(63.0, 2e-5)},
        "verdict": {
            "exclude": [names[slow], names[weak]] if has_slow_node else [],
            "findings": found,
            "rule": "A value is bad if it is worse than the median of all nodes by more than the"
            " measure's tolerance and by more than 5 scaled median absolute deviations.",
        },
        "compared": {
            "job": "100",
            "time": "2026-11-16T06:12:00Z",
            "changes": [f"{names[0]}: small files took 2.1 ms, now 2.4 ms"],
        },
        "lines": ["jobgen doctor: measuring", *(f"{name}  ok" for name in names)],
    }


def _job() -> dict[str, Any]:
    return {
        "format": 1,
        "job": "123",
        "cluster": "mi210",
        "time": "2026-11-23T06:10:00Z",
        "torch": "2.13.0",
        "device": "cuda",
        "device_name": "AMD Instinct MI210",
        "ranks_per_node": 8,
        "network": {"used": ["InfiniBand"], "promised": "IB", "problem": ""},
    }


def _measure(row: tuple[str, str, bool, float, float, float]) -> dict[str, Any]:
    return dict(zip(("title", "unit", "higher_is_better", "tolerance"), row[:4], strict=True))


def _noisy(random: Random, value: float, share: float) -> float:
    return float(f"{random.gauss(value, value * share):.4g}")


def _pairs(random: Random, count: int, value: float, share: float) -> Pairs:
    if count == 1:
        return []
    pairs: Pairs = [[None] * count for _ in range(count)]
    for a in range(count):
        for b in range(a):
            _set(pairs, a, b, _noisy(random, value, share))
    return pairs


def _set(pairs: Pairs, a: int, b: int, value: float) -> None:
    pairs[a][b] = pairs[b][a] = value


def _node(random: Random, name: str, index: int) -> dict[str, Any]:
    values = {key: _noisy(random, row[4], row[5]) for key, row in MEASURES.items()}
    ranks = {
        key: [_noisy(random, values[key], 0.004) for _ in range(8)] for key in ("compute", "memory")
    }
    address = f"10.71.{index // 250}.{index % 250 + 1}"
    return {
        "name": name,
        "address": address,
        "clock_offset": _noisy(random, 0.002, 0.5),
        "values": values,
        "ranks": ranks,
        "notes": ["memlock 8192 KiB"],
    }


def _curve(top: float, start: float) -> list[list[float]]:
    """Sizes of 4 KiB to 1 GiB; a time to start, and then a rate."""
    points: list[list[float]] = []
    for power in range(12, 31):
        seconds = start + 2**power * 1.99 / (top * 1e9)
        points.append([2**power, float(f"{seconds:.4g}"), round(2**power * 1.99e-9 / seconds, 4)])
    return points


def _findings(
    names: list[str], slow: int, weak: int, pair: tuple[int, int], node: bool, link: bool
) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    if node:
        text = f"{names[slow]} reaches 9.6 GB/s with its best partner; the median is 23.8 GB/s"
        found.append(_finding(names[slow], "network", 9.6, 23.8, text))
        text = f"{names[weak]} reads its memory at 702 GB/s; the median is 1,310 GB/s"
        found.append(_finding(names[weak], "memory", 702.0, 1310.0, text))
    if link:
        a, b = (names[i] for i in pair)
        text = f"the pair {a} – {b} reaches 4.2 GB/s; 23.4 GB/s are usual"
        found.append({**_finding("", "network", 4.2, 23.4, text), "pair": [a, b]})
        text = f"the pair {a} – {b} has a latency of 14 us; 3.2 us are usual"
        found.append({**_finding("", "latency", 14.0, 3.2, text), "pair": [a, b]})
    return found


def _finding(node: str, measure: str, value: float, median: float, text: str) -> dict[str, Any]:
    return {"node": node, "measure": measure, "value": value, "median": median, "text": text}
