"""The measures: their units, and how far a node may be from the others."""

import math
from typing import NamedTuple

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
