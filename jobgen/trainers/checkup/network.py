"""The network that was used: what the ranks found, and the cure if it is another one."""

import os
import re
from typing import NamedTuple

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
