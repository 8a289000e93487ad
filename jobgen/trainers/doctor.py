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
import json
import os
import re
import socket
import sys
import tempfile
import time
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from jobgen.trainers.checkup.examination import examine
from jobgen.trainers.checkup.exchanges import measure_all_reduces, measure_all_sizes
from jobgen.trainers.checkup.judging import (
    FEW,
    MEASURES,
    Measure,
    changes,
    judge_all,
    newest_results,
    node_values,
)
from jobgen.trainers.checkup.place import LINES, Place, find_place, gathered, show
from jobgen.trainers.checkup.printing import (
    Result,
    core_lines,
    heat_map,
    network_in_log,
    node_lines,
    report,
    verdict_lines,
)
from jobgen.trainers.checkup.proof import Proof
from jobgen.trainers.checkup.proving import conclude_proof, prove
from jobgen.trainers.shared.backends import WITH_GLOO
from jobgen.trainers.shared.rank import GPU, choose_device
from jobgen.trainers.shared.variables import rank_from_environment

NO_FOLDER = "jobgen doctor: --folder {}: {}: name a folder that the job can write to"


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
    add("--proof", metavar="FILE", help="the short form, for `jobgen profiles prove`: writes this")
    add("--of", type=json.loads, metavar="JSON", help="what that command says in the proof")
    add("--repeat", type=int, default=20, metavar="N", help="times for each size (%(default)s)")
    args = parser.parse_args()
    args.largest = args.largest or parse_size("256M" if GPU else "16M")
    if args.repeat < 1 or args.smallest > args.largest:
        parser.error("--repeat must be 1 or more, and --from not more than --to")
    if (args.proof is None) != (args.of is None):
        parser.error("--proof and --of belong together")
    return args


def job_facts(cluster: str, place: Place) -> dict[str, Any]:
    """What the results begin with."""
    numbers = (os.environ.get(name) for name in ("SLURM_JOB_ID", "PBS_JOBID"))
    return {
        "format": 1,
        "job": next(filter(None, numbers), time.strftime("local-%Y%m%dT%H%M%S")),
        "cluster": cluster,
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "torch": torch.__version__,
        "device": place.device.type,
        "device_name": device_name(),
        "ranks_per_node": min(map(len, place.ranks)),
    }


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
    show(*heat_map(results), *node_lines(results["nodes"]), *core_lines(place, results))
    results["allreduce"], right = measure_all_reduces(args, place)
    results["compared"] = previous and {
        **{key: previous[key] for key in ("job", "time")},
        "changes": changes(results, previous),
    }
    return results, right


def device_name() -> str:
    if GPU:
        return str(getattr(torch, GPU).get_device_name())
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            found = re.search(r"^model name\s*: (.*)", file.read(), re.MULTILINE)
    except OSError:
        found = None
    return found[1] if found else os.uname().machine


def write_results(folder: str, results: dict[str, Any]) -> None:
    """Write the file, whole or not at all."""
    with tempfile.NamedTemporaryFile("w", dir=folder, suffix=".tmp", delete=False) as file:
        json.dump(results, file, allow_nan=False, separators=(",", ":"))
    os.chmod(file.name, 0o644)
    os.replace(file.name, f"{folder}/{results['job']}.json")


def measure(
    args: argparse.Namespace, device: torch.device, rank: int, world: int, proof: Proof | None
) -> tuple[list[Result], dict[str, Any]]:
    """Join the other ranks, and measure. Returns what each rank found, and the results."""
    error, log, right, results = "", "", False, dict[str, Any]()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/nccl"
        os.environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,NET", NCCL_DEBUG_FILE=path)
        limit = timedelta(minutes=5)
        dist.init_process_group(WITH_GLOO, rank=rank, world_size=world, timeout=limit)
        try:
            if proof:
                right = prove(args, device, proof)
            elif args.only:
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
    proof = None
    try:
        if args.proof:
            proof = Proof(args.proof if rank == 0 else "", args.of)
        elif not args.only:
            os.makedirs(args.folder, exist_ok=True)
    except OSError as error:
        sys.exit(NO_FOLDER.format(args.proof or args.folder, error.strerror))
    found, results = measure(args, device, rank, world, proof)
    lines, good = report(found, GPU == "cuda")
    show(*lines)
    if proof:
        good = conclude_proof(proof, {result.network[0] for result in found}, good)
    elif not results and not args.only:
        show("jobgen doctor: it could not measure all, see above")
    if results:
        used = sorted({", ".join(filter(None, result.network)) for result in found})
        good = conclude(args, results, used, "" if good else lines[-1])
    dist.destroy_process_group()
    sys.exit(0 if good or (results and args.exit_zero) else 1)


if __name__ == "__main__":
    main()
