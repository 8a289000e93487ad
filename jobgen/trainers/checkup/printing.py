"""The lines about the nodes and their pairs, and the verdict in words."""

import math
import os
from collections.abc import Sequence
from statistics import median
from typing import Any

from jobgen.trainers.checkup.judging import MEASURES, node_values, pair_values
from jobgen.trainers.checkup.place import Place
from jobgen.trainers.shared.rank import GPU

WORTH = 1.1  # times as fast, from which binding is worth a word: runs differ by some percent


def heat_map(results: dict[str, Any]) -> list[str]:
    """A line for each node with a character for each pair: tenths of the median."""
    names, pairs = [node["name"] for node in results["nodes"]], pair_values(results, "bandwidth")
    if not pairs or len(names) > 64:
        return []
    middle = median(pairs.values())
    legend = f"tenths of the median, {middle:.4g} GB/s (#: all of it or more, ?: not measured)"
    lines = [f"bandwidth of each pair in {legend}"]
    for number, (name, row) in enumerate(zip(names, results["pairs"]["bandwidth"], strict=True)):
        tenths = ["?" if v is None else "0123456789#"[min(10, round(10 * v / middle))] for v in row]
        tenths[number] = "."
        lines.append(f"{name[-30:]:>30} {''.join(tenths)}")
    return lines


def node_lines(nodes: list[dict[str, Any]]) -> list[str]:
    """A table with a line for each node, and the notes."""
    names = [name for name in MEASURES if any(name in node["values"] for node in nodes)]
    rows = [["", *(name[:9] for name in names)], ["", *(MEASURES[name].unit for name in names)]]
    for node in nodes:
        rows.append([node["name"], *(f"{node['values'].get(n, math.nan):.4g}" for n in names)])
    width = max(len(row[0]) for row in rows)
    lines = [f"{row[0]:{width}}" + "".join(f"{cell:>10}" for cell in row[1:]) for row in rows]
    return lines + [f"{node['name']}: {note}" for node in nodes for note in node["notes"]]


def core_lines(place: Place, results: dict[str, Any]) -> list[str]:
    """How the ranks of the first node share its cores, and what it would bring to bind them."""
    cores = [place.cores[rank] for rank in place.ranks[0]]
    union, total = len(set().union(*cores)), sum(map(len, cores))
    ranks = f"{len(cores)} rank{'s' * (len(cores) > 1)}"
    if union == total:
        return [f"cores of a node: {ranks}, each with its own of {union}"]
    line = f"cores of a node: {ranks} share {union}"
    if union < len(cores):
        return [f"{line}; request more: --set request.cpus_per_gpu=N"]
    unbound, bound = node_values(results, "memory"), node_values(results, "own_cores")
    gains = [bound[node] / unbound[node] for node in bound if node in unbound]
    if not gains:
        return [line]
    line += f"; with its own cores for each, memory is {median(gains):.2f} times as fast"
    numa = "--set launch.numa_binding=exclusive (torch 2.9, numactl)"
    way = numa if GPU == "cuda" else "--launcher srun, or mpiexec with launch.cpu_bind"
    return [f"{line}: {way}" if median(gains) >= WORTH else line]


def verdict_lines(results: dict[str, Any], problem: str) -> list[str]:
    """What is wrong; the last line is what to do."""
    findings, total = results["verdict"]["findings"], len(results["nodes"])
    lines = [finding["text"] for finding in findings]
    if problem:
        lines.append(f"jobgen doctor: {problem}")
    pairs = [" and ".join(each["pair"]) for each in findings if not each["node"]]
    if pairs:
        lines.append(f"jobgen doctor: slow between {'; '.join(dict.fromkeys(pairs))}")
    worst: dict[str, str] = {}
    for each in findings:
        if each["node"]:
            ratio = f"{each['measure']} {each['value'] / each['median']:.2g} of the median"
            worst.setdefault(each["node"], ratio)
    if worst:
        verb = "node is" if total == 1 else "nodes is" if len(worst) == 1 else "nodes are"
        texts = ", ".join(f"{name} ({ratio})" for name, ratio in worst.items())
        lines.append(f"jobgen doctor: {len(worst)} of {total} {verb} slow: {texts}")
        lines.append(
            f"exclude {'it' if len(worst) == 1 else 'them'}: {how_to_exclude(list(worst))}"
        )
    elif not pairs and not problem:
        lines.append("jobgen doctor: no node is slower than the others")
    return lines


def how_to_exclude(names: Sequence[str]) -> str:
    if "PBS_JOBID" in os.environ:
        return f"ask the site's staff to take {','.join(names)} offline (PBS excludes none by name)"
    return f"--set request.exclude={','.join(names)}"
