"""What is printed: about the network that was used, the nodes and their pairs, the verdict."""

import math
import os
import re
from statistics import median
from typing import Any, NamedTuple

from jobgen.trainers.checkup.judging import MEASURES, node_values, pair_values
from jobgen.trainers.checkup.place import Place
from jobgen.trainers.shared.rank import GPU

LIBFABRIC = "aws-ofi-nccl"
CURES = {
    LIBFABRIC: "NCCL found no aws-ofi-nccl: its lib folder has to be on LD_LIBRARY_PATH, built for "
    "this CUDA and this libfabric (profile: software.aws_ofi_nccl_root, or the site's module)",
    "InfiniBand": "NCCL found no InfiniBand: see ibstat, `ulimit -l`, and in a container whether "
    "/dev/infiniband and libibverbs are there",
    "provider": "libfabric chose another provider: see fi_info, whether the job has a VNI (start "
    "it with srun or PALS, not ssh), and which libfabric comes first on LD_LIBRARY_PATH",
    "sums": "Sums are wrong: on GH200 with Slingshot try NCCL_PROTO=^LL128, and FI_CXI_RDZV_* = 0",
}


class Result(NamedTuple):
    """What one rank found about its network."""

    host: str
    network: tuple[str, str]  # its name, and the provider of libfabric
    sums_right: bool
    error: str
    warnings: list[str]


def network_in_log(log: str) -> tuple[str, str]:
    """The network that NCCL used, from its INFO log, and the provider of libfabric."""
    names = re.findall(r"Using network (.+?)\s*$", log, re.MULTILINE)
    name = names[-1] if names else "none"
    providers = re.findall(r"NET/OFI Selected [Pp]rovider is ([^\s,]+)", log)
    if "libfabric" in name.lower():
        return LIBFABRIC, providers[-1] if providers else "unknown"
    if name.startswith("IB"):
        return ("RoCE" if "/RoCE" in log else "InfiniBand"), ""
    return ("TCP sockets" if name == "Socket" else name), ""


def cure_for(nccl_net: str, fi_provider: str, network: tuple[str, str]) -> str:
    """The cure if NCCL_NET or FI_PROVIDER request another network; else an empty text."""
    name, provider = network
    if "libfabric" in nccl_net.lower() and name != LIBFABRIC:
        return CURES[LIBFABRIC]
    if nccl_net.upper() == "IB" and name not in ("InfiniBand", "RoCE"):
        return CURES["InfiniBand"]
    if name != LIBFABRIC or provider == "unknown" or fi_provider.startswith("^"):
        return ""
    # FI_PROVIDER is a list. The provider that was used may have others on top of it: efa;ofi_rxr.
    return "" if provider.startswith(tuple(fi_provider.split(","))) else CURES["provider"]


def report(results: list[Result], cuda: bool) -> tuple[list[str], bool]:
    """The lines after the table, of which the last is a cure; and whether all is well."""
    nodes = len({result.host for result in results})
    nccl_net, fi_provider = os.environ.get("NCCL_NET", ""), os.environ.get("FI_PROVIDER", "")
    networks = sorted({result.network for result in results})
    ranks = f"{len(results)} ranks on {nodes} nodes"
    lines = [f"{ranks}: {', '.join(filter(None, network))}" for network in networks]
    failed = [result for result in results if result.error]
    for result in failed:
        lines += [f"{result.host}: {result.error}", *result.warnings]
    if nccl_net and not cuda:
        devices = "Intel's GPUs" if GPU else "CPUs"
        problem = f"cannot be checked: on {devices} the ranks do not use NCCL"
        lines.append(f"NCCL_NET={nccl_net} {problem}")
    cures = [cure_for(nccl_net, fi_provider, network) for network in networks]
    cure = next(filter(None, cures), "") if cuda and nodes > 1 else ""
    if cure:
        requested = " ".join(filter(None, [nccl_net, fi_provider]))
        lines.append(f"Not the network that the job requests ({requested}): {cure}")
    elif not failed and not all(result.sums_right for result in results):
        cure = CURES["sums"]
        lines.append(cure)
    return lines, not cure and not failed


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
        names = ",".join(worst)
        way = f"--set request.exclude={names}"
        if "PBS_JOBID" in os.environ:
            way = f"ask the site's staff to take {names} offline (PBS excludes none by name)"
        lines.append(f"exclude {'it' if len(worst) == 1 else 'them'}: {way}")
    elif not pairs and not problem:
        lines.append("jobgen doctor: no node is slower than the others")
    return lines
