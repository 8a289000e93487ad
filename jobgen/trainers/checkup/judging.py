"""The measures, the verdict, and what differs from earlier results."""

import glob
import json
import math
import os
from collections.abc import Sequence
from statistics import median
from typing import Any, NamedTuple

from jobgen.trainers.shared.rank import GPU


class Measure(NamedTuple):
    """What is measured on each node, and from when on a difference between nodes matters."""

    title: str
    unit: str
    tolerance: float  # 0.3: less than 0.7 of the median, or more than 1 / 0.7 of it
    higher_is_better: bool = True
    floor: float = 1e-9  # values below it are alike

    def better(self, one: float, other: float) -> float:
        return max(one, other) if self.higher_is_better else min(one, other)

    def badness(self, value: float) -> float:
        size = math.log(max(value, self.floor))
        return -size if self.higher_is_better else size


KIND = "bf16" if GPU else "float32"
MEASURES = {  # ranks on CPUs may share them with other work, and the network takes CPUs, too
    "gpus": Measure("GPUs that a rank sees", "", 0.01),
    "compute": Measure(f"matrix product, {KIND}", "TFLOP/s", 0.1 if GPU else 0.5),
    "to_device": Measure("copies from host to GPU", "GB/s", 0.2),
    "between_devices": Measure("copies from GPU to GPU", "GB/s", 0.2),
    "memory": Measure("memory bandwidth of the host", "GB/s", 0.3 if GPU else 0.5),
    "own_cores": Measure("memory, each rank on its own cores", "GB/s", 0.3 if GPU else 0.5),
    "shared_memory": Measure("/dev/shm, written and read", "GB/s", 0.6),
    "local_disk": Measure("temporary folder, written", "GB/s", 0.8),
    "small_files": Measure("a small file in the job's folder", "ms", 0.8, False, 2.0),
    "network": Measure("bandwidth between nodes, each way", "GB/s", 0.3 if GPU else 0.6),
    "latency": Measure("latency between nodes", "us", 0.6 if GPU else 0.75, False, 2.0),
}
PAIRS = {"bandwidth": "network", "latency": "latency"}  # tables of pairs, and a node's best of each
SLOWEST_RANK = ("gpus", "compute", "to_device", "between_devices")  # on GPUs; else the ranks' sum
FEW = 3  # of fewer nodes nobody can say which one is slow
RULE = (
    "A value is bad if it is worse than the median of all nodes by more than the measure's "
    "tolerance, and by more than a factor of 3 or, in logarithms, 5 scaled MADs (1.4826 x the "
    "median absolute deviation). What looks bad is measured again, and the best counts; of a "
    "node's pairs, the best."
)


def short(value: float) -> float:
    return float(f"{value:.4g}")


def node_values(results: dict[str, Any], name: str) -> dict[tuple[str, ...], float]:
    nodes = results["nodes"]
    return {(node["name"],): node["values"][name] for node in nodes if name in node["values"]}


def pair_values(results: dict[str, Any], key: str) -> dict[tuple[str, ...], float]:
    names = [node["name"] for node in results["nodes"]]
    return {
        (names[a], names[b]): value
        for a, row in enumerate(results["pairs"].get(key, []))
        for b, value in enumerate(row)
        if a < b and value is not None
    }


def judge(
    name: str, values: dict[tuple[str, ...], float], reference: Sequence[float], mads: float
) -> list[dict[str, Any]]:
    """A finding for each value that is bad (RULE), the worst first."""
    measure, findings = MEASURES[name], []
    usual = [measure.badness(value) for value in reference]
    center = median(usual) if usual else math.inf
    deviation = 1.4826 * median([abs(each - center) for each in usual] or [0.0])
    spread = min(mads * max(deviation, 0.001), math.log(3))
    limit = center + max(-math.log(1 - measure.tolerance), spread)
    bad = [names for names in values if measure.badness(values[names]) > limit]
    for names in sorted(bad, key=lambda names: -measure.badness(values[names])):
        value, middle = values[names], short(median(reference))
        text = f"{' and '.join(names)}: {measure.title} {value:.4g} {measure.unit}, "
        text += f"{value / middle:.2g} of the median {middle:.4g}"
        who = {"node": names[0]} if len(names) == 1 else {"node": "", "pair": list(names)}
        findings.append({**who, "measure": name, "value": value, "median": middle, "text": text})
    return findings


def find_slow(
    results: dict[str, Any], previous: dict[str, Any] | None, mads: float
) -> list[dict[str, Any]]:
    """Findings about nodes, then about pairs whose nodes are well with others.

    Of two nodes nobody can say which one is slow: a previous run is the reference, if there is one.
    """
    findings: list[dict[str, Any]] = []
    few = len(results["nodes"]) < FEW
    usual = (previous or {"nodes": [], "pairs": {}}) if few else results
    for name in MEASURES:
        if not (few and name in PAIRS.values()):
            reference = list(node_values(usual, name).values())
            findings += judge(name, node_values(results, name), reference, mads)
    bad = {finding["node"] for finding in findings}
    for key, name in PAIRS.items():
        pairs = {p: value for p, value in pair_values(results, key).items() if not bad & set(p)}
        reference = list((pair_values(usual, key) if few else pairs).values())
        findings += judge(name, pairs, reference, mads)[:20]
    return findings


def judge_all(results: dict[str, Any], previous: dict[str, Any] | None) -> dict[str, Any]:
    findings = find_slow(results, previous, 5)
    exclude = list(dict.fromkeys(each["node"] for each in findings if each["node"]))
    return {"exclude": exclude, "findings": findings, "rule": RULE}


def newest_results(folder: str, wanted: dict[str, Any]) -> dict[str, Any] | None:
    """The newest results of the same cluster, kind of device and ranks on a node."""
    for path in sorted(glob.glob(f"{glob.escape(folder)}/*.json"), key=os.path.getmtime)[::-1]:
        try:
            with open(path, encoding="utf-8") as file:
                earlier = json.load(file)
            if all(earlier[key] == value for key, value in wanted.items()):
                find_slow(earlier, earlier, 5), changes(earlier, earlier)  # has what they need
                return dict(earlier)
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            continue
    return None


def changes(results: dict[str, Any], earlier: dict[str, Any]) -> list[str]:
    """What is better or worse than in the earlier results, by more than the tolerance."""
    lines = []
    rows = [{row[0]: row[2] for row in each["allreduce"]["all"]} for each in (earlier, results)]
    pairs = [
        (f"all-reduce of {size} bytes", "network", rows[0][size], rows[1][size])
        for size in sorted(set(rows[0]) & set(rows[1]))[-1:]
    ]
    for name in MEASURES:
        old, new = node_values(earlier, name), node_values(results, name)
        if old and new:
            title = f"{MEASURES[name].title}: median"
            pairs.append((title, name, median(old.values()), median(new.values())))
        pairs += [
            (f"{MEASURES[name].title}: {key[0]}", name, old[key], new[key])
            for key in new
            if key in old
        ]
    for label, name, before, after in pairs:
        measure = MEASURES[name]
        change = measure.badness(after) - measure.badness(before)
        if abs(change) > -math.log(1 - measure.tolerance):
            word = "worse" if change > 0 else "better"
            lines.append(f"{label} {word}: {after:.4g} {measure.unit}, was {before:.4g}")
    return lines[:20]
