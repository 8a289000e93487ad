"""The words that a proof may have: its checks, its networks and its programs; no torch is needed.

`jobgen profiles proof` checks a file by the same words.
"""

import re

FORMAT = 1
# In the order of the job, each with what is so until it has passed.
CHECKS = {
    "start": "the ranks did not meet",
    "nodes": "there were not two nodes",
    "bandwidth": "not each two nodes exchanged data",
    "sums": "no right sums of all-reduces",
    "training": "no step of DDP with the same weights on all ranks",
    "network": "another network than the profile requests, or a rank that failed",
}
NETWORKS = ("InfiniBand", "RoCE", "aws-ofi-nccl", "TCP sockets", "oneCCL", "gloo over TCP")
PROGRAMS = ("jobgen", "python", "torch", "nccl", "cuda", "rocm", "slurm", "pbs")
VERSION = re.compile(r"\d{1,5}(?:\.\d{1,5}(?!\d)){1,4}")


def plain_version(text: str) -> str:
    """The digits and dots that a text begins with: what is behind them may name who built it."""
    found = VERSION.match(text)
    return found[0] if found else ""
