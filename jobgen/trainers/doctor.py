"""Is this machine fit, and which node is slow: nodes, disks, each pair's network, all-reduces.

    torchrun --nproc-per-node=4 doctor.py --cluster mi210

All nodes measure the same at the same time, and the odd one out is named. `--only all-reduce`
measures the all-reduces alone. On GPUs it reads in the log of NCCL (or RCCL) which network was
used. NCCL_NET and FI_PROVIDER, as a profile sets them, are the network that the job requests. The
exit status is 1 if a node or a pair is slow, a sum is wrong, or another network was used. It runs
under torchrun, under `srun python3` (with MASTER_ADDR and MASTER_PORT set) and by itself; with NCCL
on GPUs, with oneCCL on Intel's (whose log it does not read), with gloo on CPUs. It needs torch.
"""

import argparse
import glob
import json
import math
import os
import re
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import reduce
from statistics import median
from typing import Any, NamedTuple

import torch
import torch.distributed as dist

BACKENDS = {"cuda": "cpu:gloo,cuda:nccl", "xpu": "cpu:gloo,xpu:xccl"}  # gloo waits for no GPU
GPU = next((kind for kind in BACKENDS if getattr(torch, kind).is_available()), "")  # xpu: Intel's

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


class Result(NamedTuple):
    """What one rank found about its network."""

    host: str
    network: tuple[str, str]  # its name, and the provider of libfabric
    sums_right: bool
    error: str
    warnings: list[str]


class Place(NamedTuple):
    """Where this rank is among the nodes, which are in the order of their lowest ranks."""

    hosts: list[str]
    ranks: list[list[int]]
    node: int
    local: int
    device: torch.device


NO_FOLDER = "jobgen doctor: --folder {}: {}: name a folder that the job can write to"
LINES: list[str] = []  # what rank 0 has printed


def parse_size(text: str) -> int:
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not match or int(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a size: use bytes, or 64K, 16M, 1G")
    return int(match[1]) * int(1024 ** " KMG".index(match[2] or " "))


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    add = parser.add_argument
    add("--cluster", default="", help="name: results are compared with those of the same one")
    add("--folder", default="jobgen-doctor", help="for results, on all nodes (%(default)s)")
    add("--exit-zero", action="store_true", help="also if a node is slow: torchrun adds no error")
    add("--only", choices=["all-reduce"], help="measure nothing else, and write no file")
    add("--from", type=parse_size, default="4K", dest="smallest", help="size (%(default)s)")
    add("--to", type=parse_size, dest="largest", help="size (256M; 16M on CPUs)")
    add("--repeat", type=int, default=20, metavar="N", help="times for each size (%(default)s)")
    args = parser.parse_args()
    args.largest = args.largest or parse_size("256M" if GPU else "16M")
    if args.repeat < 1 or args.smallest > args.largest:
        parser.error("--repeat must be 1 or more, and --from not more than --to")
    return args


def print_line(text: str) -> None:
    print(f"{text}\n", end="", flush=True)  # one write, so that the lines of ranks do not mix


def show(*lines: str) -> None:
    if dist.get_rank() == 0 and lines:
        LINES.extend(lines)
        print_line("\n".join(lines))


def short(value: float) -> float:
    return float(f"{value:.4g}")


def rank_from_environment() -> tuple[int, int, int]:
    """The rank of this process, the number of ranks, and its rank on this node."""
    torchrun = ("RANK", "WORLD_SIZE", "LOCAL_RANK")
    slurm = ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID")
    for names in (torchrun, slurm):
        # A batch script has SLURM_PROCID=0, too: only MASTER_ADDR says that there are other ranks.
        if "MASTER_ADDR" in os.environ and names[0] in os.environ:
            rank, world, local_rank = (int(os.environ[name]) for name in names)
            return rank, world, local_rank
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")  # a single rank, on any free port
    return 0, 1, 0


def choose_device(local_rank: int) -> torch.device:
    """The device of this rank, which torch uses from now on."""
    gpu = getattr(torch, GPU, None)
    if not gpu:
        return torch.device("cpu")
    number = local_rank % gpu.device_count()  # where a rank sees only its own GPU, that is 0
    gpu.set_device(number)  # before NCCL or oneCCL starts, which would choose a GPU itself
    return torch.device(GPU, number)


def gathered(value: Any) -> list[Any]:
    """The values of all ranks."""
    values = [value] * dist.get_world_size()
    dist.all_gather_object(values, value)
    return values


def find_place(device: torch.device) -> Place:
    names = gathered(socket.gethostname().split(".")[0])
    ranks: dict[str, list[int]] = {}
    for rank, name in enumerate(names):
        ranks.setdefault(name, []).append(rank)
    rank, hosts = dist.get_rank(), list(ranks)
    own = names[rank]
    return Place(hosts, [*ranks.values()], hosts.index(own), ranks[own].index(rank), device)


def wait_for_all() -> None:
    dist.all_reduce(torch.zeros(1))  # of the CPU, so by gloo


def synchronize() -> None:
    if GPU:
        getattr(torch, GPU).synchronize()


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


def speed(action: Callable[[], object], amount: float) -> float:
    """`amount` a second: the median of three means, each over several periods of a CPU quota."""
    action()
    rates = []
    for _ in range(3):
        start_time, count, seconds = time.perf_counter(), 0, 0.0
        while seconds < 0.4:
            action()
            synchronize()
            count, seconds = count + 1, time.perf_counter() - start_time
        rates.append(count * amount / seconds)
    return median(rates)


def measure_copies(source: torch.Tensor, target: torch.device) -> float:
    """GB/s of copies from one place to another."""
    copy = torch.empty_like(source, device=target)
    return speed(lambda: copy.copy_(source, non_blocking=True), source.nbytes / 1e9)


def measure_compute(device: torch.device) -> float:
    size, kind = (8192, torch.bfloat16) if GPU else (512, torch.float32)
    matrix = torch.ones(size, size, device=device, dtype=kind)
    product = torch.empty_like(matrix)
    return speed(lambda: torch.mm(matrix, matrix, out=product), 2 * size**3 / 1e12)


def measure_file(folder: str | None, size: int, sync: bool) -> float:
    """GB/s of writing a file, to the disk or also back to memory."""
    block = bytearray(size)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:

        def write() -> None:
            file.seek(0)
            file.write(block)
            if sync:
                os.fsync(file.fileno())
            else:
                file.seek(0)
                file.readinto(block)

        return speed(write, size / 1e9 * (1 if sync else 2))


def measure_small_files(folder: str) -> float:
    """Milliseconds to open, write, read and remove a small file."""

    def write_and_read() -> None:
        with tempfile.NamedTemporaryFile(dir=folder, prefix=".small-") as file:
            file.write(b"x" * 1000)
            file.flush()
            with open(file.name, "rb") as same:
                same.read()

    return 1000 / speed(write_and_read, 1)


def measure_one(name: str, place: Place, folder: str) -> float | None:
    """One of MEASURES on this node, None where this rank does not measure it."""
    gpus = getattr(torch, GPU).device_count() if GPU else 0
    device = place.device

    def block(**options: Any) -> torch.Tensor:
        return torch.ones(64 << 20, dtype=torch.uint8, **options)

    if name == "gpus":
        return gpus or None
    if name == "compute":
        return measure_compute(device)
    if name == "memory":  # each copy reads and writes
        return 2 * measure_copies(block(), torch.device("cpu"))
    if name == "to_device" and gpus:
        return measure_copies(block(pin_memory=True), device)
    if name == "between_devices" and gpus > 1:
        other = torch.device(GPU, ((device.index or 0) + 1) % gpus)
        return measure_copies(block(device=device), other)
    if name == "shared_memory" and place.local == 0:
        return measure_file("/dev/shm", 16 << 20, sync=False)
    if name == "local_disk" and place.local == 0:
        return measure_file(None, 4 << 20, sync=True)
    if name == "small_files" and place.local == 0:
        return measure_small_files(folder)
    return None


NVIDIA_SMI = (
    "nvidia-smi",
    "--query-gpu=index,ecc.errors.uncorrected.volatile.total,clocks_throttle_reasons.active",
    "--format=csv,noheader,nounits",
)
THROTTLES = {8: "hardware slowdown", 32: "heat", 64: "heat (hardware)", 128: "power brake"}


def notes_of_nvidia(answer: str) -> list[str]:
    """ECC errors and throttled clocks in the answer of nvidia-smi."""
    notes = []
    for gpu, errors, mask in re.findall(r"^(\d+), ([^,]+), 0x(\w+)\s*$", answer, re.MULTILINE):
        if errors.isdigit() and int(errors):
            notes.append(f"{errors} uncorrectable ECC errors on GPU {gpu}")
        reasons = [text for bit, text in THROTTLES.items() if int(mask, 16) & bit]
        if reasons:
            notes.append(f"GPU {gpu} throttles: {', '.join(reasons)}")
    return notes


def notes_of_node() -> list[str]:
    """What limits this node, of what needs no measurement."""
    memlock, notes = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0], []
    if memlock != resource.RLIM_INFINITY:
        notes.append(f"memlock {memlock // 1024} KiB")
    for path in sorted(glob.glob("/sys/class/drm/card*/device/ras/*_err_count")):  # AMD's
        with open(path, encoding="ascii", errors="replace") as file:
            errors = re.search(r"ue: ([1-9]\d*)", file.read())
        if errors:
            card, block = path.split("/")[4], os.path.basename(path).partition("_err")[0]
            notes.append(f"{errors[1]} uncorrectable ECC errors in {block} of {card}")
    return notes


def measure_node(
    names: Sequence[str], place: Place, folder: str, notes: list[str]
) -> dict[str, float]:
    """What this rank measures of these, at the same time as all others."""
    values: dict[str, float] = {}
    for name in names:
        wait_for_all()
        query = None
        if name == "compute" and place.local == 0 and GPU and shutil.which(NVIDIA_SMI[0]):
            query = subprocess.Popen(NVIDIA_SMI, stdout=subprocess.PIPE, text=True)
        try:
            value = measure_one(name, place, folder)
            if value:
                values[name] = value
            if query:  # it has read the clocks under load
                notes.extend(notes_of_nvidia(query.communicate(timeout=20)[0]))
        except (OSError, RuntimeError, subprocess.TimeoutExpired) as failure:
            notes.append(f"{MEASURES[name].title}: {str(failure).splitlines()[0]}")
        finally:
            if query:
                query.kill()
    return values


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


def own_address() -> str:
    """The address at which this node reaches node 0."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect((os.environ["MASTER_ADDR"], 9))
            return str(probe.getsockname()[0])
        except OSError:
            return ""


def clock_offsets() -> list[float]:
    """Seconds by which each rank's clock is ahead of rank 0's, to a few milliseconds."""
    stamps = []
    for _ in range(5):
        wait_for_all()
        stamps.append(time.time())
    rows = gathered(stamps)
    return [median(b - a for a, b in zip(rows[0], row, strict=True)) for row in rows]


def describe_node(place: Place, number: int, ranks: list[Any], offset: float) -> dict[str, Any]:
    """A node of the results, of what each of its ranks has found: values, notes, address."""
    own = [ranks[rank] for rank in place.ranks[number]]
    by_rank = {key: [short(r[0][key]) for r in own if key in r[0]] for key in MEASURES}
    by_rank = {key: values for key, values in by_rank.items() if values}
    notes = list(dict.fromkeys(note for rank in own for note in rank[1]))
    if abs(offset) > 1:
        notes.append(f"its clock is {offset:+.1f} s from that of {place.hosts[0]}")
    return {
        "name": place.hosts[number],
        "address": own[0][2],
        "clock_offset": round(offset, 3),
        "values": {
            key: short(min(values) if GPU and key in SLOWEST_RANK else sum(values))
            for key, values in by_rank.items()
        },
        "ranks": {key: values for key, values in by_rank.items() if len(values) > 1},
        "notes": notes,
    }


def add_pairs(results: dict[str, Any], table: torch.Tensor) -> None:
    """The pairs, and each node's best pair, for the results."""
    for (key, name), rows in zip(PAIRS.items(), table.tolist(), strict=True):
        pairs = [[None if math.isnan(value) else short(value) for value in row] for row in rows]
        results["pairs"][key] = pairs
        for node, row in zip(results["nodes"], pairs, strict=True):
            values = [value for value in row if value is not None]
            if values:
                node["values"][name] = reduce(MEASURES[name].better, values)


def examine(place: Place, folder: str, previous: dict[str, Any] | None) -> dict[str, Any]:
    """Nodes and pairs. What looks slow is measured again, and the best counts."""
    values: dict[str, float] = {}
    notes = notes_of_node() if place.local == 0 else []
    names, table = list(MEASURES), torch.tensor([])
    for attempt in range(3 if len(place.hosts) <= 16 else 2):
        own = [name for name in names if name not in PAIRS.values()]
        for name, value in measure_node(own, place, folder, notes).items():
            values[name] = MEASURES[name].better(value, values.get(name, value))
        if len(place.hosts) > 1 and set(PAIRS.values()) & set(names):
            new = measure_pairs(place, notes)
            old = table if attempt else new
            table = torch.stack([torch.fmax(old[0], new[0]), torch.fmin(old[1], new[1])])
        ranks, offsets = gathered((values, notes, own_address())), clock_offsets()
        firsts = [offsets[ranks[0]] for ranks in place.ranks]
        nodes = [describe_node(place, i, ranks, offset) for i, offset in enumerate(firsts)]
        results: dict[str, Any] = {"nodes": nodes, "pairs": {"bandwidth": [], "latency": []}}
        if len(place.hosts) > 1:
            add_pairs(results, table)
        slow = {finding["measure"] for finding in find_slow(results, previous, 0)}
        names = [name for name in MEASURES if name in slow]
        if not names:
            break
    return results


def job_facts(cluster: str, place: Place) -> dict[str, Any]:
    """What the results begin with."""
    return {
        "format": 1,
        "job": job_name(),
        "cluster": cluster,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "torch": torch.__version__,
        "device": place.device.type,
        "device_name": device_name(),
        "ranks_per_node": min(map(len, place.ranks)),
    }


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


def measure_all(args: argparse.Namespace, device: torch.device) -> tuple[dict[str, Any], bool]:
    """Measure and print. Returns the results, and whether all sums are right."""
    place = find_place(device)
    results, nodes = job_facts(args.cluster, place), len(place.hosts)
    same = {key: results[key] for key in ("format", "cluster", "device_name", "ranks_per_node")}
    previous = newest_results(args.folder, same) if dist.get_rank() == 0 else None
    reference = [previous if nodes < FEW else None]
    dist.broadcast_object_list(reference)
    show(f"jobgen doctor: {dist.get_world_size()} ranks on {nodes} nodes measure")
    dist.all_reduce(torch.zeros(1, device=device))  # NCCL's communicator of all ranks
    results.update(examine(place, args.folder, reference[0]))
    results["measures"] = {
        name: dict(zip(Measure._fields[:4], measure[:4], strict=True))
        for name, measure in MEASURES.items()
        if node_values(results, name)
    }
    results["verdict"] = judge_all(results, reference[0])
    show(*heat_map(results), *node_lines(results["nodes"]))
    results["allreduce"], right = measure_all_reduces(args, place)
    results["compared"] = previous and {
        **{key: previous[key] for key in ("job", "time")},
        "changes": changes(results, previous),
    }
    return results, right


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


def job_name() -> str:
    names = (os.environ.get(name) for name in ("SLURM_JOB_ID", "PBS_JOBID"))
    return next(filter(None, names), time.strftime("local-%Y%m%dT%H%M%S"))


def device_name() -> str:
    if GPU:
        return str(getattr(torch, GPU).get_device_name())
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            found = re.search(r"^model name\s*: (.*)", file.read(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else os.uname().machine


def write_results(folder: str, results: dict[str, Any]) -> str:
    """Write the file, whole or not at all. Returns its path."""
    path = f"{folder}/{results['job']}.json"
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".tmp", delete=False) as file:
        json.dump(results, file, allow_nan=False, separators=(",", ":"))
    os.chmod(file.name, 0o644)
    os.replace(file.name, path)
    return path


def measure(
    args: argparse.Namespace, device: torch.device, rank: int, world: int
) -> tuple[list[Result], dict[str, Any]]:
    """Join the other ranks, and measure. Returns what each rank found, and the results."""
    error, log, right, results = "", "", False, dict[str, Any]()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/nccl"
        os.environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,NET", NCCL_DEBUG_FILE=path)
        backend, limit = BACKENDS.get(GPU, "gloo"), timedelta(minutes=5)
        dist.init_process_group(backend, rank=rank, world_size=world, timeout=limit)
        try:
            if args.only:
                right = measure_all_sizes(args)[1]
            else:
                results, right = measure_all(args, device)
        except RuntimeError as failure:
            error = str(failure).split("\n")[0]
        if os.path.exists(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                log = file.read()
    interface = os.environ.get("GLOO_SOCKET_IFNAME", "that of the hostname")
    network = ("gloo over TCP", f"interface {interface}")
    if GPU == "cuda":
        network = network_in_log(log)
    elif GPU:
        network = "oneCCL", f"FI_PROVIDER {os.environ.get('FI_PROVIDER', 'not set')}"
    warnings = re.findall(r"NCCL WARN .*", log)[:3]
    own = Result(socket.gethostname(), network, right, error, warnings)
    return gathered(own), results


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


def conclude(
    args: argparse.Namespace, results: dict[str, Any], used: list[str], problem: str
) -> bool:
    """Print what changed and the verdict, and write the file. Returns whether all is well."""
    requested = [os.environ.get(name, "") for name in ("NCCL_NET", "FI_PROVIDER")]
    promised = " ".join(filter(None, requested))
    results["network"] = {"used": used, "promised": promised, "problem": problem}
    compared, good = results["compared"], not problem and not results["verdict"]["findings"]
    if compared:
        show(f"against job {compared['job']} of {compared['time']}:")
        show(*(compared["changes"] or ["no change"]))
    elif len(results["nodes"]) < FEW:
        show(f"fewer than {FEW} nodes and no earlier results: nothing to compare their speed with")
    show(*verdict_lines(results, problem))
    if dist.get_rank() == 0:
        try:
            write_results(args.folder, {**results, "lines": LINES})
        except OSError as error:
            show(NO_FOLDER.format(args.folder, error.strerror))
            good = False
    return bool(gathered(good)[0])


def main() -> None:
    args = parse_arguments()
    rank, world, local_rank = rank_from_environment()
    device = choose_device(local_rank)
    try:
        if not args.only:
            os.makedirs(args.folder, exist_ok=True)
    except OSError as error:
        sys.exit(NO_FOLDER.format(args.folder, error.strerror))
    found, results = measure(args, device, rank, world)
    lines, good = report(found, GPU == "cuda")
    show(*lines)
    if not results and not args.only:
        show("jobgen doctor: it could not measure all, see above")
    if results:
        used = sorted({", ".join(filter(None, result.network)) for result in found})
        good = conclude(args, results, used, "" if good else lines[-1])
    dist.destroy_process_group()
    sys.exit(0 if good or (results and args.exit_zero) else 1)


if __name__ == "__main__":
    main()
