"""The doctor's short form, for a proof: the nodes' pairs, the all-reduces, and a step of DDP."""

import argparse
import math
from statistics import median

import torch
import torch.distributed as dist

from jobgen.trainers.checkup.exchanges import measure_all_sizes, measure_pairs
from jobgen.trainers.checkup.judging import short
from jobgen.trainers.checkup.place import find_place, gathered, show
from jobgen.trainers.checkup.proof import Proof
from jobgen.trainers.checkup.proof_words import CHECKS
from jobgen.trainers.shared.one_step import loss_of_one_step


def pair_bandwidth(table: torch.Tensor) -> float:
    """The median of the pairs; not a number if a pair exchanged nothing, or there is none."""
    nodes = len(table)
    values = [float(table[a, b]) for a in range(nodes) for b in range(a)]
    return median(values) if values and all(map(math.isfinite, values)) else math.nan


def prove(args: argparse.Namespace, device: torch.device, proof: Proof) -> bool:
    """Measure and train. Returns whether all sums are right. Raises RuntimeError."""
    place = find_place(device)
    nodes, ranks = len(place.hosts), dist.get_world_size()
    proof.add("start", nodes=nodes, ranks=ranks)
    proof.add("nodes", nodes > 1)
    show(f"jobgen profiles prove: {ranks} ranks on {nodes} nodes")
    dist.all_reduce(torch.zeros(1, device=device))  # NCCL's communicator of all ranks
    notes: list[str] = []
    if nodes > 1:
        bandwidth = pair_bandwidth(measure_pairs(place, notes)[0])
        if math.isfinite(bandwidth):
            show(f"between two nodes, each way: {bandwidth:.4g} GB/s")
            proof.add("bandwidth", bandwidth=short(bandwidth))
    for note in dict.fromkeys(note for rank in gathered(notes) for note in rank):
        show(note)
    right = measure_all_sizes(args)[1]
    proof.add("sums", right)
    loss = loss_of_one_step(dist.get_rank(), device)
    proof.add("training", all(gathered(bool(loss.isfinite()))))
    return right


def conclude_proof(proof: Proof, networks: set[str], good: bool) -> bool:
    """Write the last check, and print what did not pass. Returns whether all passed."""
    proof.add_networks(networks, good)
    passed = bool(gathered(not proof.failed)[0])
    for check in proof.failed:
        show(f"{check}: {CHECKS[check]}")
    show(f"jobgen profiles prove: {'all passed' if passed else 'not passed'}: {proof.file}")
    show("publish this file alone: the job's other files name hosts and the account")
    return passed
