"""The fabric's check: how fast all ranks sum messages of growing size, whether right, over what.

    torchrun --nproc-per-node=4 allreduce.py --to 1G

On GPUs it reads NCCL's (or RCCL's) own log for the network that was taken, and ends with 1 if the
job was promised a better one: NCCL_NET and FI_PROVIDER are the promise, as a profile makes it. Runs
under torchrun and under `srun python3` (with MASTER_ADDR and MASTER_PORT set); with NCCL on GPUs,
with gloo on CPUs. Needs torch alone.
"""

import argparse
import os
import re
import socket
import sys
import tempfile
import time

import torch
import torch.distributed as dist

LIBFABRIC = "aws-ofi-nccl"
CURES = {
    LIBFABRIC: "NCCL found no aws-ofi-nccl: its lib folder has to be on LD_LIBRARY_PATH, built for "
    "this CUDA and this libfabric (profile: software.aws_ofi_nccl_root, or the site's module)",
    "InfiniBand": "NCCL found no InfiniBand: see ibstat, `ulimit -l`, and in a container whether "
    "/dev/infiniband and libibverbs are there",
    "provider": "libfabric took another provider: see fi_info, whether the job has a VNI (start it "
    "with srun or PALS, not ssh), and which libfabric comes first on LD_LIBRARY_PATH",
    "wrong": "sums are wrong: on GH200 with Slingshot try NCCL_PROTO=^LL128, and FI_CXI_RDZV_* = 0",
}


def size(text: str) -> int:
    found = re.fullmatch(r"(\d+)([KMG]?)", text)
    if not found or int(found[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text} is no size: bytes, or such as 64K, 16M, 1G")
    return int(found[1]) * int(1024 ** " KMG".index(found[2] or " "))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    add = parser.add_argument
    add("--from", type=size, default="4K", metavar="SIZE", dest="least", help="smallest (4K)")
    add("--to", type=size, metavar="SIZE", help="largest (256M; 16M on CPUs)")
    add("--repeat", type=int, default=20, metavar="N", help="times for each size (20)")
    args = parser.parse_args()
    args.to = args.to or size("256M" if torch.cuda.is_available() else "16M")
    if args.repeat < 1 or args.least > args.to:
        parser.error("--repeat has to be 1 or more, and --from no more than --to")
    return args


def say(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def place() -> tuple[int, int, int]:
    """This process's rank, the number of ranks, and its rank on this node."""
    for names in (
        ("RANK", "WORLD_SIZE", "LOCAL_RANK"),
        ("SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID"),
    ):
        # A batch script has SLURM_PROCID=0 too: only with a MASTER_ADDR is this one of many.
        if "MASTER_ADDR" in os.environ and names[0] in os.environ:
            rank, world, local = (int(os.environ[name]) for name in names)
            return rank, world, local
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")  # alone, on any free port
    return 0, 1, 0


def network(log: str) -> tuple[str, str]:
    """What NCCL says it took, from its INFO log: the network, and libfabric's provider."""
    found = re.findall(r"Using network (.+?)\s*$", log, re.MULTILINE)
    name = found[-1] if found else "none"
    provider = re.findall(r"NET/OFI Selected [Pp]rovider is ([^\s,]+)", log)
    if "libfabric" in name.lower():
        return LIBFABRIC, provider[-1] if provider else "unknown"
    if name.startswith("IB"):
        return ("RoCE" if "/RoCE" in log else "InfiniBand"), ""
    return ("TCP sockets" if name == "Socket" else name), ""


def broken(promised: str, provider: str, took: tuple[str, str]) -> str:
    """The cure, where NCCL_NET or FI_PROVIDER promise another network than was taken."""
    if "libfabric" in promised.lower() and took[0] != LIBFABRIC:
        return CURES[LIBFABRIC]
    if promised.upper() == "IB" and took[0] not in ("InfiniBand", "RoCE"):
        return CURES["InfiniBand"]
    known = took[0] == LIBFABRIC and took[1] != "unknown" and not provider.startswith("^")
    # FI_PROVIDER is a list; what was taken may have others on top of it, as in efa;ofi_rxr.
    if known and not took[1].startswith(tuple(provider.split(","))):
        return CURES["provider"]
    return ""


def measured(count: int, repeat: int, rank: int, world: int, device: torch.device) -> list[float]:
    """Seconds of one all-reduce of `count` floats, and how many of its sums are wrong."""
    # Whole numbers, whose sums float32 has exactly for up to 60,000 ranks.
    base = torch.arange(count, device=device, dtype=torch.float32).remainder(251)
    own = base + rank % 8
    sums = own.clone()
    dist.all_reduce(sums)  # the first one sets up the connections
    wrong = int((sums != world * base + sum(other % 8 for other in range(world))).sum())
    if device.type == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    for _ in range(repeat):
        dist.all_reduce(own)
    if device.type == "cuda":
        torch.cuda.synchronize()
    seconds = (time.perf_counter() - began) / repeat
    slowest = torch.tensor([seconds, float(wrong)], dtype=torch.float64, device=device)
    dist.all_reduce(slowest, dist.ReduceOp.MAX)
    return [float(value) for value in slowest]


def sweep(args: argparse.Namespace, rank: int, world: int, device: torch.device) -> bool:
    """Print the table; whether all sums were right."""
    if rank == 0:
        say(f"{'bytes':>12} {'time':>12} {'algorithm':>14} {'bus':>14} {'wrong':>6}")
    right, bytes_ = True, max(args.least, 4)
    while bytes_ <= args.to:
        seconds, wrong = measured(bytes_ // 4, args.repeat, rank, world, device)
        rate = bytes_ / seconds / 1e9
        bus = rate * 2 * (world - 1) / world  # what each link carries, as nccl-tests counts it
        if rank == 0:
            cells = f"{seconds * 1e6:>9.1f} us {rate:>9.3f} GB/s {bus:>9.3f} GB/s {wrong:>6.0f}"
            say(f"{bytes_:>12} {cells}")
        right = right and wrong == 0
        bytes_ *= 4
    return right


def main() -> None:
    args = arguments()
    rank, world, local = place()
    if cuda := torch.cuda.is_available():
        torch.cuda.set_device(local % torch.cuda.device_count())
    failed, right = "", False
    with tempfile.TemporaryDirectory() as folder:
        log = f"{folder}/nccl"
        os.environ.update(NCCL_DEBUG="INFO", NCCL_DEBUG_SUBSYS="INIT,NET", NCCL_DEBUG_FILE=log)
        dist.init_process_group(
            "cpu:gloo,cuda:nccl" if cuda else "gloo", rank=rank, world_size=world
        )
        try:
            right = sweep(args, rank, world, torch.device("cuda" if cuda else "cpu"))
        except RuntimeError as error:
            failed = str(error).split("\n")[0]
        said = ""
        if os.path.exists(log):
            with open(log, encoding="utf-8", errors="replace") as file:
                said = file.read()
    warnings = re.findall(r"NCCL WARN .*", said)[:3]
    interface = os.environ.get("GLOO_SOCKET_IFNAME", "that of the hostname")
    took = network(said) if cuda else ("gloo over TCP", f"interface {interface}")
    own = (socket.gethostname(), took, failed, warnings)
    ranks: list[tuple[str, tuple[str, str], str, list[str]]] = [own] * world
    dist.all_gather_object(ranks, own)
    dist.destroy_process_group()

    nodes = len({host for host, *_ in ranks})
    promised, provider = os.environ.get("NCCL_NET", ""), os.environ.get("FI_PROVIDER", "")
    cures = (
        [broken(promised, provider, each) for _, each, *_ in ranks] if cuda and nodes > 1 else []
    )
    cure = next(filter(None, cures), "" if right or failed else CURES["wrong"])
    if rank == 0:
        for each in sorted({each for _, each, *_ in ranks}):
            say(f"{world} ranks on {nodes} nodes: {', '.join(filter(None, each))}")
        for host, _, text, lines in ranks:
            if text:
                say("\n".join([f"{host}: {text}", *lines]))
        if promised and not cuda:
            say(f"NCCL_NET={promised} was promised; on CPUs NCCL is not tried")
        if cure:
            promise = " ".join(filter(None, [promised, provider])) or "right sums"
            say(f"Not what was promised ({promise}): {cure}")
    sys.exit(1 if cure or failed else 0)


if __name__ == "__main__":
    main()
